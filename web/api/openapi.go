package api

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/web/site"
)

//go:embed openapi/*.yaml
var openapiFiles embed.FS

// apiDocument is the OpenAPI description of one of our APIs in both forms (EDU-06a).
type apiDocument struct{ Yaml, Json []byte }

// ReadAPIDocuments gives the descriptions that are built in, by the name of the API. They are the same for all who ask:
// nobody may change them.
var ReadAPIDocuments = sync.OnceValues(convertAPIDocuments)

func convertAPIDocuments() (map[string]apiDocument, error) {
	docs := make(map[string]apiDocument)
	for _, name := range []string{"events", "mutations", "oauth", "registry"} {
		content, err := openapiFiles.ReadFile("openapi/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read description: %w", err)
		}
		asJSON, err := DocumentToJSON(content)
		if err != nil {
			return nil, fmt.Errorf("read description of %s: %w", name, err)
		}
		docs[name] = apiDocument{Yaml: content, Json: asJSON}
	}
	return docs, nil
}

// OwnDocuments are the descriptions of our own APIs, for the register (EDU-N03).
// What they say of the settings is told by {base}/openapi.yaml alone. The bytes of
// a version never change: openapi/digests.txt holds what each has.
func OwnDocuments() ([]registry.OwnDocument, error) {
	docs, err := ReadAPIDocuments()
	if err != nil {
		return nil, err
	}
	told, err := openapiFiles.ReadFile("openapi/contracts.yaml")
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	mutated, err := openapiFiles.ReadFile("openapi/mutation-events.yaml")
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	return []registry.OwnDocument{
		{
			ID: "schakel-contracts", Title: "Contract events", Content: told,
			Summary: "What this Schakel tells partners of new, deprecated and withdrawn contract versions.",
		},
		{
			ID: "schakel-events", Title: "API for events", Content: docs["events"].Yaml,
			Summary: "How events are sent to this Schakel, by its own systems and by the intermediaries of partners, and how deliveries are fetched and followed.",
		},
		{
			ID: "schakel-registry", Title: "API of the contract register", Content: docs["registry"].Yaml,
			Summary: "How contracts are found, read, compared, uploaded and published.",
		},
		{
			ID: "schakel-mutation-events", Title: "Mutation events", Content: mutated,
			Summary: "What this Schakel tells followers of its datasets: that a delta can be fetched, or that a history was replaced.",
		},
		{
			ID: "schakel-mutations", Title: "API for mutation files", Content: docs["mutations"].Yaml,
			Summary: "How what changes in a dataset is followed, so that a copy of it stays exact, and how it is published.",
		},
		{
			ID: "schakel-oauth", Title: "API for tokens", Content: docs["oauth"].Yaml,
			Summary: "How a machine client gets access tokens for the other APIs.",
		},
	}, nil
}

// Describe registers the description of an API at {base}/openapi.json and .yaml,
// for anyone and any site.
func (m *API) Describe(g site.RouteGroup, name string) {
	doc := m.Docs[name]
	g.PublicGET("/openapi.json", serveDescription("application/vnd.oai.openapi+json", doc.Json))
	g.PublicGET("/openapi.yaml", serveDescription("application/vnd.oai.openapi", doc.Yaml))
}

func serveDescription(mediaType string, content []byte) echo.HandlerFunc {
	sum := sha256.Sum256(content)
	tag := `"sha256:` + hex.EncodeToString(sum[:]) + `"`
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("ETag", tag)
		h.Set("Cache-Control", "public, max-age=300")
		if site.MatchesTag(c.Request().Header, tag) {
			return c.NoContent(http.StatusNotModified)
		}
		return c.Blob(http.StatusOK, mediaType, content)
	}
}
