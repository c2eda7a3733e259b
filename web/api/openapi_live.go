package api

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"schakel/registry/profile"
	"schakel/web/site"
)

// liveMark stands in a description where the settings of now are told.
const liveMark = "<!-- live settings -->"

// liveDocument is a description that tells the settings in force (IDEM-I05). It is
// made again only when they changed.
type liveDocument struct {
	source []byte

	mu   sync.Mutex
	text string
	made apiDocument
}

// with is the document with a text in place of the mark.
func (d *liveDocument) with(text string) (apiDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == text {
		return d.made, nil
	}
	content := bytes.Replace(d.source, []byte(liveMark), []byte(indented(text, "    ")), 1)
	asJSON, err := DocumentToJSON(content)
	if err != nil {
		return apiDocument{}, fmt.Errorf("tell settings: %w", err)
	}
	d.text, d.made = text, apiDocument{Yaml: content, Json: asJSON}
	return d.made, nil
}

// indented puts a text into a block of YAML; its first line stands there already.
func indented(text, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}

// DescribeLive is describe for a description with a mark.
func (m *API) DescribeLive(g site.RouteGroup, name string) {
	live := &liveDocument{source: m.Docs[name].Yaml}
	serve := func(mediaType string, content func(apiDocument) []byte) echo.HandlerFunc {
		return func(c echo.Context) error {
			set, err := m.Registry.Profile.Current(c.Request().Context())
			if err != nil {
				return err
			}
			doc, err := live.with(settingsText(set))
			if err != nil {
				return err
			}
			return serveDescription(mediaType, content(doc))(c)
		}
	}
	g.PublicGET("/openapi.json", serve("application/vnd.oai.openapi+json", func(d apiDocument) []byte { return d.Json }))
	g.PublicGET("/openapi.yaml", serve("application/vnd.oai.openapi", func(d apiDocument) []byte { return d.Yaml }))
}

// settingsText describes the settings that senders of events need to know.
func settingsText(set *profile.ProfileState) string {
	told := map[string]bool{"idempotency": true, "events": true, "intake": true}
	values := set.Values()
	var b strings.Builder
	b.WriteString("| setting | here | rules |\n|---|---|---|\n")
	for _, s := range profile.Settings() {
		if told[s.Group()] {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Title, s.Text(values[s.Key]), strings.Join(s.Rules, ", "))
		}
	}
	return b.String()
}
