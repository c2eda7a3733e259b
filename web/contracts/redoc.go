package contracts

import (
	"crypto/rand"
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contracts/contract"
	"schakel/static"
	view "schakel/templates/contracts"
	"schakel/web/site"
)

// maxRedocBytes is the largest document that Redoc is given: it reads all of it at
// once in the browser of the reader.
const maxRedocBytes = 3 << 20

// redocPage shows a version of a contract in Redoc. The page has a policy of its
// own: Redoc writes style elements, which a nonce of this answer alone allows, and
// it can reach nothing but this Schakel.
func (p *pages) redocPage(c echo.Context) error {
	ctx := c.Request().Context()
	reader, about, err := p.readable(c)
	if err != nil {
		return err
	}
	version, err := p.Registry.Contracts.Version(ctx, reader, about.ID, c.Param("version"))
	if err != nil {
		return err
	}
	here, nonce := site.ContractVersionHref(about.ID, version.Version), rand.Text()
	header := c.Response().Header()
	header.Set("Content-Security-Policy", redocPolicy(nonce))
	header.Set("Cache-Control", "no-store") // the nonce is of this answer alone
	return p.Render(c, http.StatusOK, view.RedocPage(view.RedocView{
		Title: about.Title + " " + version.Version, Back: here + "/reading", Document: here + "/" + contract.FormatJSON,
		Nonce: nonce, TooLarge: version.Size > maxRedocBytes, Asset: static.Path,
	}))
}

// redocPolicy is static.ContentSecurityPolicy with what Redoc needs: scripts and
// styles with the nonce, and fonts that it brings along. The sandbox lets it open
// no window: its menu has an item that would hand the document to another site.
func redocPolicy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data:; font-src data:; " +
		"connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; sandbox allow-scripts allow-same-origin allow-downloads"
}
