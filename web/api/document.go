package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/registry/profile"
	"schakel/templates/i18n/texts"
	"schakel/web/site"
)

// Document describes one of our APIs (EDU-06a), or the events we tell partners of. Its feature embeds it. The bytes of a
// version never change: the first line of its file, which is not of it, holds the version and the digest of the rest.
type Document struct {
	registry.OwnDocument
	// API is the name in site.APIs of the API that serves it; empty where none does.
	API  string
	json func() ([]byte, error)
}

// NewDocument makes a document of an embedded file, whose content nobody may change any more.
func NewDocument(api string, own registry.OwnDocument) Document {
	own.Content = behindDigest(own.Content)
	return newDocument(api, own)
}

// behindDigest leaves out the first line of a file, with the digest of the rest.
func behindDigest(file []byte) []byte {
	_, rest, _ := bytes.Cut(texts.Unpack(file), []byte("\n"))
	return rest
}

func newDocument(api string, own registry.OwnDocument) Document {
	return Document{own, api, sync.OnceValues(func() ([]byte, error) {
		converted, err := DocumentToJSON(own.Content)
		if err != nil {
			return nil, fmt.Errorf("read description %s: %w", own.ID, err)
		}
		return converted, nil
	})}
}

// Part describes, in the document of an API that several features serve, the paths and schemas of one of them, in YAML.
type Part struct {
	name    string
	content []byte
}

// NewPart makes a part of "paths:" and, after them, "components:" with "schemas:". The document has a line "# paths of {name}" and a
// line "# schemas of {name}" in their places.
func NewPart(name string, file []byte) Part { return Part{name, behindDigest(file)} }

// With puts parts in their places. It panics where there is none for a part: both are embedded.
func (d Document) With(parts ...Part) Document {
	own := d.OwnDocument
	for _, p := range parts {
		paths, schemas, _ := bytes.Cut(bytes.TrimPrefix(p.content, []byte("paths:\n")), []byte("components:\n  schemas:\n"))
		for mark, text := range map[string][]byte{"  # paths of ": paths, "    # schemas of ": schemas} {
			before, after, found := bytes.Cut(own.Content, []byte(mark+p.name+"\n"))
			if !found || len(text) == 0 {
				panic("api: " + own.ID + " and its part " + p.name + " do not fit")
			}
			own.Content = slices.Concat(before, text, after)
		}
	}
	return newDocument(d.API, own)
}

// YAML returns the document as it was written.
func (d Document) YAML() ([]byte, error) { return d.Content, nil }

// JSON returns the document in its other form. It is the same for all who ask.
func (d Document) JSON() ([]byte, error) { return d.json() }

//go:embed openapi.yaml
var tokensYAML []byte

// TokensDocument describes the API for tokens.
var TokensDocument = NewDocument("oauth", registry.OwnDocument{
	ID: "schakel-oauth", Title: "API for tokens", Content: tokensYAML,
	Summary: "How a machine client gets access tokens for the other APIs.",
})

// Describe serves a document at {base}/openapi.json and .yaml, for anyone and any site. One with a mark for the settings
// tells those in force (IDEM-I05).
func (m *API) Describe(g site.RouteGroup, doc Document) {
	m.Described[doc.API] = true
	now := func(context.Context) (Document, error) { return doc, nil }
	if bytes.Contains(doc.Content, []byte(liveMark)) {
		live := &liveDocument{source: doc}
		now = func(ctx context.Context) (Document, error) {
			set, err := m.Registry.Profile.Current(ctx)
			if err != nil {
				return Document{}, err
			}
			return live.with(settingsText(set)), nil
		}
	}
	serve := func(mediaType string, form func(Document) ([]byte, error)) echo.HandlerFunc {
		return func(c echo.Context) error {
			d, err := now(c.Request().Context())
			if err != nil {
				return err
			}
			content, err := form(d)
			if err != nil {
				return err
			}
			return serveDescription(c, mediaType, content)
		}
	}
	g.PublicGET("/openapi.json", serve("application/vnd.oai.openapi+json", Document.JSON))
	g.PublicGET("/openapi.yaml", serve("application/vnd.oai.openapi", Document.YAML))
}

func serveDescription(c echo.Context, mediaType string, content []byte) error {
	sum := sha256.Sum256(content)
	tag := `"sha256:` + hex.EncodeToString(sum[:]) + `"`
	h := c.Response().Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public, max-age=300")
	if site.MatchesTag(c.Request().Header, tag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, mediaType, content)
}

// liveMark stands in a document where the settings in force are told. The register has the document without them.
const liveMark = "<!-- live settings -->"

// liveDocument is a document that tells the settings in force. It is made again only when they changed.
type liveDocument struct {
	source Document

	mu   sync.Mutex
	text string
	made Document
}

// with is the document with a text in place of the mark, put into a block of YAML.
func (d *liveDocument) with(text string) Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text != text {
		indented := strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
		own := d.source.OwnDocument
		own.Content = bytes.Replace(own.Content, []byte(liveMark), []byte(indented), 1)
		d.text, d.made = text, newDocument(d.source.API, own)
	}
	return d.made
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

// convertedBytes bounds the cache of converted documents; when it is full it is
// cleared.
const convertedBytes = 32 << 20

// ConvertedDocuments converts documents between JSON and YAML, one at a time,
// because a large one takes a second, and keeps what it made: a published
// document never changes.
type ConvertedDocuments struct {
	turn   chan struct{}
	mu     sync.Mutex
	cached map[string][]byte
	size   int
}

// NewConvertedDocuments makes an empty cache of converted documents.
func NewConvertedDocuments() *ConvertedDocuments {
	return &ConvertedDocuments{turn: make(chan struct{}, 1), cached: make(map[string][]byte)}
}

// Get answers a document in a format; digest is that of content.
func (d *ConvertedDocuments) Get(ctx context.Context, digest, format string, content []byte) ([]byte, error) {
	name := format + ":" + digest
	if found, ok := d.find(name); ok {
		return found, nil
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if found, ok := d.find(name); ok { // made while this one waited
		return found, nil
	}
	convert := DocumentToJSON
	if format == contract.FormatYAML {
		convert = DocumentToYAML
	}
	made, err := convert(content)
	if err != nil {
		return nil, fmt.Errorf("convert document: %w", err)
	}
	d.cache(name, made)
	return made, nil
}

func (d *ConvertedDocuments) find(name string) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.cached[name]
	return found, ok
}

func (d *ConvertedDocuments) cache(name string, made []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size+len(made) > convertedBytes {
		clear(d.cached)
		d.size = 0
	}
	if len(made) <= convertedBytes {
		d.cached[name] = made
		d.size += len(made)
	}
}
