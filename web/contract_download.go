package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"schakel/registry/contract"
)

// downloadVersion answers the document of a version to who is logged in: as it
// was uploaded byte for byte, or as JSON or YAML. Machines use the register's API.
func (p *portal) downloadVersion(form string, converted *convertedDocuments) echo.HandlerFunc {
	return func(c echo.Context) error {
		reader, err := p.reader(c)
		if err != nil {
			return err
		}
		ctx, id, asked := c.Request().Context(), c.Param("id"), c.Param("version")
		v, content, err := p.Registry.Contracts.Original(ctx, reader, id, asked)
		if err != nil {
			return err
		}
		format := v.Format
		if form == contract.FormatJSON || form == contract.FormatYAML {
			format = form
		}
		if format != v.Format {
			if content, err = converted.get(ctx, v.Digest, format, content); err != nil {
				return err
			}
		}
		header := c.Response().Header()
		documentHeaders(header, id, v, format, v.Version)
		header.Set("Content-Security-Policy", dataCSP)
		if matchesTag(c.Request().Header, setDigests(header, content)) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.Blob(http.StatusOK, documentType(format), content)
	}
}
