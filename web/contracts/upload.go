package contracts

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/registry/sorted"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// uploadForm shows the form for a new version.
func (p *pages) uploadForm(c echo.Context) error {
	return p.showUpload(c, http.StatusOK, site.DocumentForm{}, nil, nil)
}

// uploadVersion keeps a document as a draft. What is wrong with a document is
// shown with its lines, and pasted text stays in the form.
func (p *pages) uploadVersion(c echo.Context) error {
	if _, _, err := p.maintained(c); err != nil {
		return err
	}
	in, err := site.ReadDocumentForm(c)
	if err != nil {
		return err
	}
	if len(in.Content()) == 0 {
		return p.showUpload(c, http.StatusUnprocessableEntity, in, nil, site.FormErrors{"document": "contracts.upload.nothing-chosen"})
	}
	id := c.Param("id")
	version, err := p.Registry.Contracts.Upload(c.Request().Context(), site.Actor(c), id, contracts.Upload{
		Version: in.Version, FileName: in.FileName, Main: in.Main, Content: in.Content(), Fetch: in.Fetch,
	})
	if e, ok := errors.AsType[*contracts.InvalidDocumentError](err); ok {
		worstFirst(e.Findings)
		return p.showUpload(c, http.StatusUnprocessableEntity, in, e.Findings, site.FormErrors{in.Field(): "contracts.upload.see-findings"})
	}
	if status, wrong := site.FormRefusal(err); wrong != nil {
		if text := wrong["document"]; text != "" {
			wrong = site.FormErrors{in.Field(): text}
		}
		return p.showUpload(c, status, in, nil, wrong)
	}
	return p.Saved(c, err, site.ContractVersionHref(id, version.Version), i18n.M("contracts.upload.done", version.Version))
}

// worstFirst puts what stops a document before what is only advice.
func worstFirst(findings []contract.Finding) {
	ranks := []string{contract.SeverityError, contract.SeverityWarning, contract.SeverityInfo}
	sorted.Stable(findings, func(a, b contract.Finding) int {
		return cmp.Compare(slices.Index(ranks, a.Severity), slices.Index(ranks, b.Severity))
	})
}

func (p *pages) showUpload(c echo.Context, status int, in site.DocumentForm, findings []contract.Finding, wrong site.FormErrors) error {
	reader, row, err := p.maintained(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	page := p.Frame(c, i18n.T(ctx, "contracts.upload.heading", row.Title),
		ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"}, ui.Crumb{Label: row.Title, Href: site.ContractHref(row.ID)})
	page.Invalid = wrong != nil
	rows, source := refusedSource(ctx, in.Content(), findings)
	return p.Render(c, status, view.UploadPage(page, view.UploadView{
		Action: maintainHref(reader, row.ID) + "/versions", Version: in.Version, Main: in.Main, Text: in.Text, Fetch: in.Fetch, Kind: row.Kind, MaxBytes: p.DocumentBytes,
		Findings: rows, Source: source, Wrong: wrong,
	}))
}

// refusedSource is the part of a refused document with the first finding, with
// findings that lead to its lines. What is in a zip has no lines to lead to.
func refusedSource(ctx context.Context, content []byte, findings []contract.Finding) ([]view.FindingRow, view.SourceView) {
	rows := findingRows(ctx, findings, "")
	if len(findings) == 0 || contract.IsArchive(content) {
		return rows, view.SourceView{}
	}
	excerpts(rows, content)
	v := sourceView(ctx, content, max(1, findings[0].Line), findings, "")
	v.PrevHref, v.NextHref = "", "" // it is kept nowhere, so there are no other parts
	for i, f := range findings {
		if f.Line >= v.First && f.Line < v.First+len(v.Lines) {
			rows[i].Href = "#L" + strconv.Itoa(f.Line)
		}
	}
	return rows, v
}
