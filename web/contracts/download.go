package contracts

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/registry/services"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/web/api"
	"schakel/web/site"
)

// downloadVersion answers the document of a version to who is logged in: as it
// was uploaded byte for byte, or as JSON or YAML. Machines use the register's API.
func (p *pages) downloadVersion(form string, converted *api.ConvertedDocuments) echo.HandlerFunc {
	return func(c echo.Context) error {
		reader, err := p.Reader(c)
		if err != nil {
			return err
		}
		ctx, id, asked := c.Request().Context(), c.Param("id"), c.Param("version")
		read := p.Registry.Contracts.Document
		if form == "original" {
			read = p.Registry.Contracts.Original
		}
		v, content, err := read(ctx, reader, id, asked)
		if err != nil {
			return err
		}
		format := v.Format
		if form == "original" {
			format = uploadedFormat(v)
		}
		if form == contract.FormatJSON || form == contract.FormatYAML {
			format = form
		}
		if format != v.Format && format != formatZip {
			if content, err = converted.Get(ctx, v.DocumentDigest(), format, content); err != nil {
				return err
			}
		}
		if err := p.noteDownload(c, id, v); err != nil {
			return err
		}
		header := c.Response().Header()
		documentHeaders(header, id, v, format, v.Version)
		header.Set("Content-Security-Policy", site.DataCSP)
		if site.MatchesTag(c.Request().Header, site.SetDigests(header, content)) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.Blob(http.StatusOK, documentType(format), content)
	}
}

// noteDownload remembers that a person of a partner fetched a version, or counts a visitor. The own organisation's people
// look after contracts, and what a page itself fetches, such as Redoc, is reading: that tells nothing of who builds on it. The audit
// trail has each download of what not everybody may read.
func (p *pages) noteDownload(c echo.Context, id string, v store.ContractVersion) error {
	var who contracts.Downloader
	if account := p.CurrentAccount(c); account != nil {
		if err := auditDownload(c, p.DB, p.Registry, registry.AccountActor(*account), id, v); err != nil {
			return err
		}
		who = contracts.Downloader{Kind: store.DownloadAccount, ID: account.ID, PartnerID: account.PartnerID}
		if account.PartnerID == "" {
			return nil
		}
	}
	if c.Request().Header.Get("Sec-Fetch-Dest") == "empty" {
		return nil
	}
	p.Registry.Downloads.Note(v, who)
	return nil
}

// auditDownload writes in the audit trail who downloads a version that not everybody may read.
func auditDownload(c echo.Context, db *store.DB, services *services.Services, actor registry.Actor, id string, v store.ContractVersion) error {
	ctx := c.Request().Context()
	about, err := db.Contract(ctx, id)
	if err != nil || about.Visibility == store.VisibilityPublic && v.Status != store.VersionDraft {
		return err
	}
	return services.Audit.NoteRead(ctx, actor, registry.ActionContractDownloaded, registry.ObjectOf("contract", id, id+" "+v.Version, actor.PartnerID), nil)
}

// downloadsView shows who fetched a version to who maintains it.
func downloadsView(ctx context.Context, use contracts.DownloadUse, reader registry.Reader, now time.Time) *view.DownloadsView {
	v := &view.DownloadsView{Named: reader.Administrator, Others: use.Hidden, Anonymous: int(use.Anonymous), Now: now}
	for _, f := range use.Readers {
		row := view.DownloadRow{Reader: f.Name, Kind: downloaderKind(ctx, f.ReaderKind), Last: f.LastAt.Time}
		if row.Partner = f.Partner.Name; !f.Partner.Own {
			row.PartnerHref = site.PartnerHref(f.PartnerID)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// readingDownloads lists the downloaders of a version for its maintainer, and nothing for anybody else (guarantee G7).
func (p *pages) readingDownloads(ctx context.Context, reader registry.Reader, about store.Contract, v store.ContractVersion) (*view.DownloadsView, error) {
	if !reader.Maintains(about) || v.Status == store.VersionDraft {
		return nil, nil
	}
	use, err := p.Registry.Contracts.DownloadsOf(ctx, reader, about, v)
	if err != nil {
		return nil, err
	}
	return downloadsView(ctx, use, reader, p.Cfg.Now()), nil
}

func downloaderKind(ctx context.Context, kind string) string {
	switch kind {
	case store.DownloadClient:
		return i18n.T(ctx, "contracts.downloads.kind-client")
	case store.DownloadReadKey:
		return i18n.T(ctx, "contracts.downloads.kind-key")
	}
	return i18n.T(ctx, "contracts.downloads.kind-person")
}
