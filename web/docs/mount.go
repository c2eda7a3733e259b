// Package docs serves the documentation at /docs, to everybody: guides in Markdown, rendered once at the start. It knows the
// content of none; links that lead nowhere are shown as text, and HTML in a guide too.
package docs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	view "schakel/templates/docs"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// pages serves the guides.
type pages struct {
	*site.Portal
	guides guides
}

// Mount renders the guides and registers their pages; its error names the guide that cannot be read.
func Mount(p *site.Portal) error { return (&pages{Portal: p}).mountDocs() }

// Guides are the rendered guides, in the order of the index.
type guides struct {
	list  []site.Doc
	files []site.DocFile
	pages map[string]map[i18n.Lang]view.Guide // by name; each has English
	named map[string]site.Doc
}

// ReadGuides renders the guides, once for all requests.
func ReadGuides(list []site.Doc, files ...site.DocFile) (guides, error) {
	g := guides{list: list, files: files, pages: make(map[string]map[i18n.Lang]view.Guide), named: make(map[string]site.Doc)}
	for _, d := range list {
		if _, twice := g.pages[d.Name]; twice {
			return guides{}, fmt.Errorf("web: two guides are named %s", d.Name)
		}
		resolve := func(to string) (string, bool) { return g.resolve(d, to) }
		original, err := view.Read(d.Markdown, nil, resolve)
		if err != nil {
			return guides{}, fmt.Errorf("web: read guide %s: %w", d.Name, err)
		}
		original.Lang, g.named[d.Name] = i18n.English, d
		g.pages[d.Name] = map[i18n.Lang]view.Guide{i18n.English: original}
		for lang, text := range d.Translations {
			page, err := view.Read(text, &original, resolve)
			if err != nil {
				return guides{}, fmt.Errorf("web: read guide %s in %s: %w", d.Name, lang, err)
			}
			page.Lang = lang
			g.pages[d.Name][lang] = page
		}
	}
	return g, nil
}

// in returns a guide in the language of the reader, or else in English, then with its title in the language of the reader where it has one.
func (g guides) in(ctx context.Context, name string) (view.Guide, bool) {
	page, ok := g.pages[name][i18n.From(ctx).Lang]
	if !ok {
		page, ok = g.pages[name][i18n.English]
	}
	page.TitleLang = page.Lang
	if title := g.named[name].TitleIn(ctx); title != "" {
		page.Title, page.TitleLang = title, i18n.From(ctx).Lang
	}
	return page, ok
}

// resolve gives the address that a link of a guide leads to: an https address, a path of ours, a heading of the same guide,
// or the page of another guide, which the link names by its file. Anything else is no link.
func (g guides) resolve(from site.Doc, to string) (string, bool) {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return "", false
	case u.Scheme != "" || u.Host != "":
		return u.String(), u.Scheme == "https" && u.Host != ""
	case u.Path == "":
		return u.String(), u.Fragment != ""
	case strings.HasPrefix(u.Path, "/"):
		return u.String(), true
	}
	file := path.Join(path.Dir(from.File), u.Path)
	for _, d := range g.list {
		if d.File == file {
			return (&url.URL{Path: "/docs/" + d.Name, Fragment: u.Fragment}).String(), true
		}
	}
	for _, f := range g.files {
		if f.File == file {
			return "/docs/files/" + path.Base(file), true
		}
	}
	return "", false
}

// mountDocs registers the documentation, which everybody can read.
func (p *pages) mountDocs() error {
	read, err := ReadGuides(p.Docs, p.Files...)
	if err != nil {
		return err
	}
	p.guides = read
	g := p.Pages("", registry.Anyone)
	g.GET("/docs", p.docsPage)
	g.GET("/docs/:name", p.docPage)
	g.GET("/docs/files/:name", p.docFile)
	return nil
}

// docsPage lists the guides by who reads them.
func (p *pages) docsPage(c echo.Context) error {
	var groups []view.Group
	at := map[i18n.Message]int{}
	ctx := c.Request().Context()
	for _, d := range p.guides.list {
		i, known := at[d.Audience]
		if !known {
			i = len(groups)
			at[d.Audience] = i
			groups = append(groups, view.Group{Title: d.Audience.In(ctx)})
		}
		guide, _ := p.guides.in(ctx, d.Name)
		groups[i].Guides = append(groups[i].Guides, view.Entry{Title: guide.Title, Lang: guide.TitleLang, Href: "/docs/" + d.Name, Answers: d.Answers.In(ctx)})
	}
	page := p.Page(c, i18n.T(ctx, "docs.title"))
	page.Lead = i18n.T(ctx, "docs.lead")
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: page.Title})
	return p.renderTagged(c, view.IndexPage(page, groups))
}

// docPage shows a guide.
func (p *pages) docPage(c echo.Context) error {
	guide, ok := p.guides.in(c.Request().Context(), c.Param("name"))
	if !ok {
		return echo.ErrNotFound
	}
	page := p.Page(c, guide.Title)
	page.Crumbs = append(page.Crumbs, ui.Crumb{Label: i18n.T(c.Request().Context(), "docs.title"), Href: "/docs"}, ui.Crumb{Label: guide.Title})
	return p.renderTagged(c, view.GuidePage(page, guide))
}

// docFile answers a file that a guide links to, as it is.
func (p *pages) docFile(c echo.Context) error {
	for _, f := range p.guides.files {
		if path.Base(f.File) == c.Param("name") {
			c.Response().Header().Set("Content-Security-Policy", site.DataCSP)
			return c.Blob(http.StatusOK, f.Type, []byte(f.Content))
		}
	}
	return echo.ErrNotFound
}

// renderTagged is render for a page whose content is the same for everyone: a visitor's browser may keep it and ask with its
// ETag whether it is current. The frame of who is logged in is never kept.
func (p *pages) renderTagged(c echo.Context, component templ.Component) error {
	var b strings.Builder
	if err := component.Render(c.Request().Context(), &b); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	if p.CurrentAccount(c) == nil {
		sum := sha256.Sum256([]byte(b.String()))
		tag := `"sha256:` + hex.EncodeToString(sum[:]) + `"`
		h := c.Response().Header()
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache")
		if site.MatchesTag(c.Request().Header, tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.HTML(http.StatusOK, b.String())
}
