package contracts

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/compare"
	"schakel/store"
	view "schakel/templates/contracts"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// changesPage shows what changed from one version of a contract to another,
// grouped by what caused it.
func (p *pages) changesPage(compared *comparisons) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		reader, about, err := p.readable(c)
		if err != nil {
			return err
		}
		to, err := p.Registry.Contracts.Version(ctx, reader, about.ID, c.Param("version"))
		if err != nil {
			return err
		}
		v, err := p.changesView(c, reader, about, to)
		if err != nil {
			return err
		}
		made, err := compared.get(ctx, reader, about.ID, to.Version, site.Clean(c.QueryParam("from")))
		status, refused := site.FormRefusal(err)
		switch {
		case len(v.Others) == 0:
			v.Message = i18n.T(ctx, "contracts.changes.only-version")
		case isNotFound(err) && site.Clean(c.QueryParam("from")) == "":
			v.Message = i18n.T(ctx, "contracts.changes.none-before")
		case refused != nil:
			v.Message = refused[""].In(ctx)
		case err != nil:
			return err
		default:
			fillChanges(c, &v, made)
			if judged(reader, to) {
				v.ImpactHref = v.VersionHref + "?from=" + url.QueryEscape(made.From.Version) + "#impact"
			}
		}
		page := p.Frame(c, i18n.T(ctx, "contracts.changes.heading", about.Title, to.Version), ui.Crumb{Label: i18n.T(ctx, "contracts.word.contracts"), Href: "/contracts"},
			ui.Crumb{Label: about.Title, Href: site.ContractHref(about.ID)}, ui.Crumb{Label: to.Version, Href: v.VersionHref})
		return p.Render(c, max(status, http.StatusOK), view.ContractChangesPage(page, v))
	}
}

// changesView is the page without changes: what can be compared.
func (p *pages) changesView(c echo.Context, reader registry.Reader, about store.Contract, to store.ContractVersion) (view.ContractChangesView, error) {
	here := site.ContractVersionHref(about.ID, to.Version)
	ctx := c.Request().Context()
	v := view.ContractChangesView{To: to.Version, VersionHref: here, Action: here + "/changes"}
	versions, err := p.Registry.Contracts.Versions(ctx, reader, about.ID)
	for _, other := range versions {
		if other.Version != to.Version {
			v.Others = append(v.Others, ui.Option{Value: other.Version, Label: i18n.T(ctx, "contracts.changes.option", other.Version, i18n.Of(ctx, "contracts.state", other.Status))})
		}
	}
	return v, err
}

func fillChanges(c echo.Context, v *view.ContractChangesView, made contracts.Comparison) {
	n := countLevels(made.Changes)
	v.From, v.Compared, v.Suggested = made.From.Version, true, made.Suggested
	v.Breaking, v.Warning, v.Info = n.Breaking, n.Warning, n.Info
	v.API = versionPath(made.To.ContractID, made.To.Version) + "/changes?" + url.Values{"from": {made.From.Version}}.Encode()
	groups := compare.GroupByCause(made.Changes)
	paging := site.PagePaging(c)
	v.Causes, v.Pager = len(groups), site.Pager(c, paging, len(groups))
	for _, g := range site.OnPage(groups, paging) {
		v.Groups = append(v.Groups, changeGroup(c.Request().Context(), g))
	}
}

// maxShownChanges bounds what is shown of one cause; the API has them all.
const maxShownChanges = 200

func changeGroup(ctx context.Context, g compare.Group) view.ContractChangeGroup {
	group := view.ContractChangeGroup{Text: g.Text.In(ctx), Level: string(g.Level), Cause: g.Cause, Total: len(g.Changes), EventTypes: g.EventTypes}
	for _, c := range g.Changes[:min(len(g.Changes), maxShownChanges)] {
		group.Changes = append(group.Changes, changeRow(ctx, c))
	}
	return group
}

// changesHref is the page that compares two versions.
func changesHref(id, version, from string) string {
	return site.ContractVersionHref(id, version) + "/changes?" + url.Values{"from": {from}}.Encode()
}

// maxCachedChanges bounds the changes in the cache of comparisons; beyond it the cache
// is cleared.
const maxCachedChanges = 20_000

// comparisons compares versions of contracts, one pair at a time, because large
// documents take seconds, and keeps what it found: the same two documents always
// give the same changes.
type comparisons struct {
	contracts *contracts.Contracts
	turn      chan struct{}
	mu        sync.Mutex
	cached    map[string]contracts.Comparison
	size      int
}

func newComparisons(register *contracts.Contracts) *comparisons {
	return &comparisons{contracts: register, turn: make(chan struct{}, 1), cached: map[string]contracts.Comparison{}}
}

// get compares two versions that the reader may see, as registry.Contracts.Compare.
func (p *comparisons) get(ctx context.Context, reader registry.Reader, id, version, from string) (contracts.Comparison, error) {
	before, after, err := p.contracts.Pair(ctx, reader, id, version, from)
	if err != nil {
		return contracts.Comparison{}, err
	}
	// The number of the old version decides which one is suggested.
	name := before.Version + ":" + before.Digest + ":" + after.Digest
	if found, ok := p.find(name); ok {
		found.From, found.To = before, after
		return found, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return contracts.Comparison{}, ctx.Err()
	}
	if found, ok := p.find(name); ok { // made while this one waited
		found.From, found.To = before, after
		return found, nil
	}
	made, err := p.contracts.Compare(ctx, reader, id, after.Version, before.Version)
	if err == nil && made.From.Digest == before.Digest && made.To.Digest == after.Digest {
		p.cache(name, made)
	}
	return made, err
}

func (p *comparisons) find(name string) (contracts.Comparison, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.cached[name]
	return found, ok
}

func (p *comparisons) cache(name string, made contracts.Comparison) {
	p.mu.Lock()
	defer p.mu.Unlock()
	weight := len(made.Changes) + 10 // an empty one takes room too
	if p.size+weight > maxCachedChanges {
		clear(p.cached)
		p.size = 0
	}
	if weight <= maxCachedChanges {
		p.cached[name] = made
		p.size += weight
	}
}
