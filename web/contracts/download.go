package contracts

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/store"
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
		p.noteDownload(c, v)
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
// look after contracts, and what a page itself fetches, such as Redoc, is reading: that tells nothing of who builds on it.
func (p *pages) noteDownload(c echo.Context, v store.ContractVersion) {
	var who contracts.Downloader
	if account := p.CurrentAccount(c); account != nil {
		who = contracts.Downloader{Kind: store.DownloadAccount, ID: account.ID, PartnerID: account.PartnerID}
		if account.PartnerID == "" {
			return
		}
	}
	if c.Request().Header.Get("Sec-Fetch-Dest") == "empty" {
		return
	}
	p.Registry.Downloads.Note(v, who)
}
