// Package search serves the search that stands in the header of every page: partners, contracts and what stands in them, event types,
// events, deliveries, AMQP messages, datasets, clients, endpoints, settings and guides.
//
// A reader finds what it may open and nothing else (guarantee G7): administrators everything, a partner its own and what it may see of
// the register, a visitor what is public. Ids and subjects are found by indexes, and words in tables that grow with what is agreed, not
// with what moves.
package search

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/templates/i18n"
	view "schakel/templates/search"
	"schakel/web/site"
)

// What is taken of a question, and shown of each kind.
const (
	maxQuery = 300 // characters
	maxWords = 8
	few      = 6
)

type pages struct {
	*site.Portal
	guides []guide
}

// Mount registers the page.
func Mount(p *site.Portal) {
	s := &pages{p, readGuides(p.Docs)}
	p.Pages("", registry.Anyone).GET("/search", s.search)
}

// finder looks for one question of one reader.
type finder struct {
	*pages
	reader registry.Reader
	scope  registry.Scope
	area   site.DeliveryArea
	text   string
	words  []string // of text, in lower case
	view   view.View
}

// member reports whether the reader is logged in as an administrator or for a partner.
func (f *finder) member() bool { return f.scope.All || f.scope.PartnerID != "" }

// owner is the partner whose rows the reader sees; "" for everybody's, of which only an administrator may ask.
func (f *finder) owner() string { return f.scope.PartnerID }

// search shows what matches a question, or leads straight to the one thing that has it for its id.
func (p *pages) search(c echo.Context) error {
	ctx := c.Request().Context()
	f, err := p.newFinder(c)
	if err != nil {
		return err
	}
	f.view.Query, f.view.Finds = f.text, f.finds(ctx)
	if f.text != "" {
		exact, err := f.exact(ctx)
		if err != nil {
			return err
		}
		if len(exact) == 1 {
			return c.Redirect(http.StatusSeeOther, exact[0].Href)
		}
		f.add(ctx, "exact", exact, "")
		if err := f.byWords(ctx); err != nil {
			return err
		}
		if words, shorter := site.WordBeginnings(f.words); shorter && len(f.view.Groups) == 0 {
			f.words, f.view.Similar = words, true
			if err := f.byWords(ctx); err != nil {
				return err
			}
		}
	}
	title := i18n.T(ctx, "search.title")
	if f.text != "" {
		title = i18n.T(ctx, "search.title-of", f.text)
	}
	page := p.Frame(c, title)
	page.Query = f.text
	return p.Render(c, http.StatusOK, view.Page(page, f.view))
}

func (p *pages) newFinder(c echo.Context) (*finder, error) {
	f := &finder{pages: p, area: site.PartnerArea()}
	text := []rune(strings.TrimSpace(site.Shown(site.Clean(c.QueryParam("q")))))
	f.text = string(text[:min(len(text), maxQuery)])
	f.words = site.SearchWords(f.text)
	f.words = f.words[:min(len(f.words), maxWords)]
	if account := p.CurrentAccount(c); account != nil {
		f.scope = registry.AccountActor(*account).Scope()
		if registry.OfOrganisation(*account) {
			f.scope, f.area = registry.Scope{All: true}, site.AdministratorArea()
		}
	}
	var err error
	f.reader, err = p.Reader(c)
	return f, err
}

// add puts what was found of a kind on the page; more is the list of all of it, which is linked to when there may be others.
func (f *finder) add(ctx context.Context, kind string, hits []view.Hit, more string) {
	if len(hits) == 0 {
		return
	}
	if len(hits) <= few {
		more = ""
	}
	f.view.Groups = append(f.view.Groups, view.Group{ID: "found-" + kind, Title: i18n.Of(ctx, "search.kind", kind), Hits: hits[:min(few, len(hits))], More: more})
}

// finds lists what this reader can look for.
func (f *finder) finds(ctx context.Context) []string {
	keys := []i18n.Message{"search.finds-register", "search.finds-guides"}
	if f.member() {
		keys = []i18n.Message{"search.finds-ids", "search.finds-subject", "search.finds-register", "search.finds-own", "search.finds-guides"}
	}
	if f.scope.All {
		keys[3] = "search.finds-all"
	}
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = key.In(ctx)
	}
	return list
}
