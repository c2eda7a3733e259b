package contracts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// versionPage shows a version of a contract with its document.
func (p *pages) versionPage(c echo.Context) error {
	if c.Param("version") == registry.Latest {
		return p.toLatest(c)
	}
	return p.showVersion(c, site.Refusal{}, "")
}

// toLatest leads to the page of the latest version under its own address.
func (p *pages) toLatest(c echo.Context) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	latest, err := p.Registry.Contracts.Version(c.Request().Context(), reader, c.Param("id"), registry.Latest)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, site.ContractVersionHref(latest.ContractID, latest.Version))
}

// showVersion shows a version, with why a decision about it was refused; sunset
// is the day that was typed.
func (p *pages) showVersion(c echo.Context, r site.Refusal, sunset string) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	version, content, err := p.Registry.Contracts.Document(ctx, reader, c.Param("id"), c.Param("version"))
	if err != nil {
		return err
	}
	about, err := p.Registry.Contracts.Get(ctx, reader, version.ContractID)
	if err != nil {
		return err
	}
	types, err := p.Registry.Contracts.EventTypes(ctx, reader, about.ID, version.Version)
	if err != nil {
		return err
	}
	findings, err := contracts.Findings(version)
	if err != nil {
		return err
	}
	v := versionView(ctx, about, version)
	v.Now, v.Types, v.Message, v.SunsetTyped = p.Cfg.Now(), typeRows(ctx, types), r.Message, sunset
	here := site.ContractVersionHref(about.ID, version.Version)
	v.Source = sourceView(ctx, content, sourceLine(c), findings, here)
	missing := contract.Missing(findings)
	v.Missing = findingRows(ctx, missing, here)
	v.Findings = findingRows(ctx, slices.DeleteFunc(findings, func(f contract.Finding) bool { return f.Code == contract.CodeReferenceMissing }), here)
	if v.Files, err = fileRows(ctx, version); err != nil {
		return err
	}
	if v.Impact, err = p.impact(c, reader, version); err != nil {
		return err
	}
	if err := p.fillScore(c, reader, &v, version); err != nil {
		return err
	}
	if reader.Maintains(about) {
		if err := p.maintainVersion(c, reader, &v, about, version, r); err != nil {
			return err
		}
	}
	page := p.Frame(c, about.Title+" "+version.Version,
		ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"}, ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)})
	page.Badge, page.Invalid = ui.State(version.Status), r.Status != 0
	if err := p.addVersionOrigin(c, reader, version, &page); err != nil {
		return err
	}
	return p.Render(c, r.Code(), view.VersionPage(page, v))
}

func versionView(ctx context.Context, about store.Contract, row store.ContractVersion) view.VersionView {
	v := view.VersionView{
		Contract: ui.Named{Name: about.Title, Href: site.ContractHref(about.ID)}, Version: row.Version, Status: row.Status,
		Reason: i18n.Message(row.StatusReason).In(ctx), Kind: about.Kind, Spec: row.SpecVersion, Format: row.Format, FileName: row.FileName,
		InfoTitle: row.InfoTitle, InfoVersion: row.InfoVersion, Digest: row.Digest, Size: row.Size,
		Created: row.CreatedAt.Time, Published: row.PublishedAt.Time, Deprecated: row.DeprecatedAt.Time, Sunset: row.SunsetAt.Time,
		Withdrawn: row.WithdrawnAt.Time, CreatedBy: row.CreatedBy, PublishedBy: row.PublishedBy,
	}
	here := site.ContractVersionHref(about.ID, row.Version)
	v.ChangesHref, v.ReadingHref, v.AdviceHref = here+"/changes", here+"/reading", here+"/advice"
	for _, form := range [][2]string{{i18n.T(ctx, "contracts.version.download-original"), "original"}, {"JSON", contract.FormatJSON}, {"YAML", contract.FormatYAML}} {
		v.Downloads = append(v.Downloads, ui.Named{Name: form[0], Href: here + "/" + form[1]})
	}
	return v
}

// maintainVersion adds what who maintains a version can do with it.
func (p *pages) maintainVersion(c echo.Context, reader registry.Reader, v *view.VersionView, about store.Contract, row store.ContractVersion, r site.Refusal) error {
	ctx, base := c.Request().Context(), maintainVersionHref(reader, about.ID, row.Version)
	var err error
	if v.Withdrawal, err = p.withdrawalView(c, reader, row); err != nil {
		return err
	}
	asked := !row.RequestedAt.IsZero()
	v.Acts = site.Acts(ctx, p.versionSteps(asked && reader.Administrator), base, row.Status, r)
	v.Acts.Title = i18n.T(ctx, "contracts.version.what-you-can-do")
	switch row.Status {
	case store.VersionDraft:
		itself, err := p.Registry.Contracts.PublishesItself(ctx, site.Actor(c))
		if err != nil {
			return err
		}
		if asked {
			v.Requested = &view.RequestedRow{By: row.RequestedBy, At: row.RequestedAt.Time, Owner: about.Owner, Reason: i18n.Message(row.RequestReason).In(ctx)}
		}
		if len(v.Missing) == 0 && (itself || !asked) {
			v.PublishHref, v.PublishLabel = base+"/publication", publishLabel(ctx, itself)
		}
		v.UploadHref = maintainHref(reader, about.ID) + "/upload"
	case store.VersionPublished:
		v.DeprecateAction = base + "/deprecation"
		if r.Verb == "deprecation" {
			v.SunsetError = r.ReasonError
		}
	}
	return nil
}

// publishLabel labels the button that publishes, or that asks for publication.
func publishLabel(ctx context.Context, itself bool) string {
	if itself {
		return i18n.T(ctx, "contracts.version.publish")
	}
	return i18n.T(ctx, "contracts.version.ask-publication")
}

// fileRows are the files of the zip that a version was uploaded as.
func fileRows(ctx context.Context, v store.ContractVersion) ([]view.FileRow, error) {
	files, err := contracts.Files(v)
	var rows []view.FileRow
	for _, f := range files {
		row := view.FileRow{Name: f.Name, Size: f.Size, Use: i18n.T(ctx, "contracts.version.file-not-used"), URL: f.URL, Digest: f.Digest}
		if at, err := time.Parse(time.RFC3339, f.FetchedAt); err == nil {
			row.Fetched = i18n.Time(ctx, at)
		}
		switch {
		case f.Name == contract.ManifestName:
			row.Use = i18n.T(ctx, "contracts.version.file-manifest")
		case f.Main:
			row.Use = i18n.T(ctx, "contracts.version.file-document")
		case f.Used:
			row.Use = i18n.T(ctx, "contracts.version.file-referred")
		}
		rows = append(rows, row)
	}
	return rows, err
}

// findingRows are findings for a page; here is the page that shows the source,
// empty when none does.
func findingRows(ctx context.Context, findings []contract.Finding, here string) []view.FindingRow {
	var rows []view.FindingRow
	for _, f := range findings {
		row := view.FindingRow{
			Severity: f.Severity, Code: f.Code, Pointer: f.Pointer, Detail: f.Detail.In(ctx), Remedy: i18n.Message(f.Remedy).In(ctx), Line: f.Line, Column: f.Column,
			File: inFile(f).In(ctx),
		}
		if f.Line > 0 && here != "" {
			row.Href = fmt.Sprintf("%s?line=%d#L%d", here, f.Line, f.Line)
		}
		rows = append(rows, row)
	}
	return rows
}

// isNotFound reports whether something does not exist, or not for this reader.
func isNotFound(err error) bool {
	e, ok := errors.AsType[*registry.Error](err)
	return ok && e.Code == registry.CodeNotFound || errors.Is(err, store.ErrNotFound)
}
