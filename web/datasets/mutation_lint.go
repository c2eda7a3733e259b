package datasets

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format/lint"
	"schakel/registry"
	view "schakel/templates/datasets"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// Bounds of what is looked at for somebody in the portal; the command has none of them.
const (
	maxLintBytes    = 512 << 20 // as it is sent
	maxLintUnpacked = 8 << 30
	maxLintFindings = 200
	lintMemory      = 16 << 20
	lintTime        = 20 * time.Minute
	LintAtOnce      = 2
)

// lintPages checks mutation files for whoever is logged in. Nothing of them is stored.
type lintPages struct {
	*Pages
	// busy has room for as many files as may be checked at once.
	busy chan struct{}
}

// routesMutationLint registers the page that looks for what is wrong in mutation files (MUT-64), the same for
// administrators and partners.
func (p *Pages) routesMutationLint() {
	d := lintPages{p, make(chan struct{}, LintAtOnce)}
	for base, who := range map[string]registry.Permission{"/admin": registry.ReadOrganisation, "/partner": registry.ReadPartner} {
		g := p.PagesUpTo(maxLintBytes, base+"/mutations", who, p.Slow(lintTime))
		g.GET("/lint", d.form)
		g.Needs(who).POST("/lint", d.checkFiles) // changes nothing
	}
}

func (d lintPages) form(c echo.Context) error {
	return d.showReport(c, http.StatusOK, view.LintView{})
}

// checkFiles reads the upload as a stream and shows what was found.
func (d lintPages) checkFiles(c echo.Context) error {
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	default:
		c.Response().Header().Set("Retry-After", "60")
		return d.showReport(c, http.StatusServiceUnavailable, view.LintView{Error: "datasets.lint.busy"})
	}
	parts, err := c.Request().MultipartReader()
	if err != nil {
		return echo.NewHTTPError(http.StatusUnsupportedMediaType, i18n.Message("datasets.form.multipart")).SetInternal(err)
	}
	var v view.LintView
	for v.Report == nil {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			v.Error = "datasets.lint.choose"
			return d.showReport(c, http.StatusUnprocessableEntity, v)
		}
		if err != nil {
			return site.BadForm(fmt.Errorf("read upload: %w", err))
		}
		switch part.FormName() {
		case "complete":
			v.Complete = true
		case "file":
			if v.Report, err = lintPart(c.Request().Context(), part, v.Complete); err != nil {
				return err
			}
		}
		if v.Report == nil && part.FormName() == "file" {
			v.Error = "datasets.import.empty"
			return d.showReport(c, http.StatusUnprocessableEntity, v)
		}
	}
	return d.showReport(c, http.StatusOK, v)
}

// lintPart looks at one file, or at all in it when it is a zip; nil for an empty one.
func lintPart(ctx context.Context, part *multipart.Part, complete bool) (*view.LintReport, error) {
	source := &streamError{from: part}
	in := bufio.NewReaderSize(source, 64<<10)
	if _, err := in.Peek(1); err != nil {
		return nil, source.form()
	}
	l := lint.New(lint.Options{Complete: complete, Most: maxLintFindings, Memory: lintMemory, Zip: archive.Limits{Total: maxLintUnpacked}})
	name := cmp.Or(part.FileName(), i18n.T(ctx, "datasets.lint.unnamed"))
	err := l.Any(name, in)
	report, ended := l.Report() // also after an error, so that its temporary files go
	if err := source.form(); err != nil {
		return nil, err
	}
	if err := errors.Join(err, ended); err != nil {
		return nil, fmt.Errorf("look at mutation file: %w", err)
	}
	return lintReport(name, report), nil
}

// streamError remembers why a stream broke: to the linter it is a fault in the file.
type streamError struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (h *streamError) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		h.err = err
	}
	return n, err
}

// form returns the answer to an upload that did not come in whole.
func (h *streamError) form() error {
	if h.err == nil {
		return nil
	}
	return site.BadForm(fmt.Errorf("read upload: %w", h.err))
}

func lintReport(name string, r lint.Report) *view.LintReport {
	v := &view.LintReport{
		Name: name, Files: int64(r.Files), Groups: r.Groups, Mutations: r.Mutations, Errors: r.Errors, Warnings: r.Warnings,
		Most: maxLintFindings,
	}
	for _, f := range r.Findings {
		v.Rows = append(v.Rows, view.LintRow{
			Rule: string(f.Rule), Severity: string(f.Severity), File: f.File, Line: f.Line, Group: f.Group, ID: f.ID, What: site.Capital(f.What),
		})
	}
	return v
}

func (d lintPages) showReport(c echo.Context, status int, v view.LintView) error {
	v.Action, v.MaxBytes = c.Request().URL.Path, maxLintBytes
	ctx := c.Request().Context()
	page := d.Frame(c, i18n.T(ctx, "datasets.list.check-files"))
	page.Lead = i18n.T(ctx, "datasets.lint.lead")
	page.Invalid = v.Error != ""
	return d.Render(c, status, view.LintPage(page, v))
}
