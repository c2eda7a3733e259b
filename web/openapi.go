package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed openapi/*.yaml
var openapiFiles embed.FS

// apiDocument is the OpenAPI description of one of our APIs in both forms (EDU-06a).
type apiDocument struct{ yaml, json []byte }

// readAPIDocuments reads the descriptions that are built in, by the name of the API.
func readAPIDocuments() (map[string]apiDocument, error) {
	docs := make(map[string]apiDocument)
	for _, name := range []string{"events", "oauth", "registry"} {
		content, err := openapiFiles.ReadFile("openapi/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read description: %w", err)
		}
		asJSON, err := documentToJSON(content)
		if err != nil {
			return nil, fmt.Errorf("read description of %s: %w", name, err)
		}
		docs[name] = apiDocument{yaml: content, json: asJSON}
	}
	return docs, nil
}

// describe registers the description of an API at {base}/openapi.json and .yaml,
// for anyone and any site.
func (m *machineAPI) describe(g routeGroup, name string) {
	doc := m.docs[name]
	g.GET("/openapi.json", serveDescription("application/vnd.oai.openapi+json", doc.json), publicCORS)
	g.GET("/openapi.yaml", serveDescription("application/vnd.oai.openapi", doc.yaml), publicCORS)
}

func serveDescription(mediaType string, content []byte) echo.HandlerFunc {
	sum := sha256.Sum256(content)
	tag := `"sha256:` + hex.EncodeToString(sum[:]) + `"`
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("ETag", tag)
		h.Set("Cache-Control", "public, max-age=300")
		if matchesTag(c.Request().Header, tag) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.Blob(http.StatusOK, mediaType, content)
	}
}
