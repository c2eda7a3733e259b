package contracts

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

func (d ownerPages) routesReadKeys(g site.RouteGroup) {
	g.GET("/keys", d.readKeys)
	change := g.Needs(registry.ChangeClients)
	change.POST("/keys", d.createReadKey, d.RequireProof)
	change.POST("/keys/:key/revoke", d.revokeReadKey)
}

// routesPartnerKeys registers the same pages for administrators about the keys of a
// partner.
func (p *pages) routesPartnerKeys(g site.RouteGroup) {
	of := func(page func(ownerPages, echo.Context) error) echo.HandlerFunc {
		return func(c echo.Context) error {
			id := c.Param("id")
			return page(ownerPages{site.OwnerPages{Portal: p.Portal, Base: site.PartnerHref(id), Deliveries: "/admin/deliveries", Owner: func(c echo.Context) (store.Partner, error) {
				return p.Registry.Partners.Get(c.Request().Context(), site.Actor(c).Scope(), id)
			}}, p}, c)
		}
	}
	g.GET("/partners/:id/keys", of(ownerPages.readKeys))
	change := g.Needs(registry.ChangeClients)
	change.POST("/partners/:id/keys", of(ownerPages.createReadKey), p.RequireProof)
	change.POST("/partners/:id/keys/:key/revoke", of(ownerPages.revokeReadKey))
}

// readKeys lists the read-only keys of the organisation.
func (d ownerPages) readKeys(c echo.Context) error {
	return d.showReadKeys(c, http.StatusOK, view.ReadKeysView{}, nil)
}

// createReadKey makes a key. It is on the answer to this request, and never again.
func (d ownerPages) createReadKey(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	read := func(form site.Form) view.ReadKeysView {
		return view.ReadKeysView{Name: form.Get("name"), Expires: form.Get("expires")}
	}
	return site.Submit(c, read, func(typed view.ReadKeysView) error {
		in := identity.NewReadKey{Name: typed.Name}
		if typed.Expires != "" {
			day, err := time.Parse(time.DateOnly, typed.Expires)
			if err != nil {
				return registry.Invalid(map[string]i18n.Message{"expires": "contracts.keys.expires-bad"})
			}
			in.Expires = day.AddDate(0, 0, 1) // it works through its last day
		}
		key, plain, err := d.Registry.ReadKeys.Create(c.Request().Context(), site.Actor(c), owner.ID, in)
		if err != nil {
			return d.Settled(c, err, d.Href("/keys"), "")
		}
		return d.showReadKeys(c, http.StatusOK, view.ReadKeysView{Made: key.Name, Plain: plain}, nil)
	}, d.showReadKeys)
}

// revokeReadKey ends a key for good.
func (d ownerPages) revokeReadKey(c echo.Context) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	all, err := d.Registry.ReadKeys.List(c.Request().Context(), registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	id := c.Param("key")
	for _, key := range all {
		if key.ID != id {
			continue
		}
		return site.WithReason(c, site.ShortReason, func(reason string) error {
			err := d.Registry.ReadKeys.Revoke(c.Request().Context(), site.Actor(c), id, reason)
			return d.Settled(c, err, d.Href("/keys"), i18n.M("contracts.keys.revoked", key.Name))
		}, func(reason string, wrong i18n.Message) error {
			return d.showReadKeys(c, http.StatusUnprocessableEntity, view.ReadKeysView{RevokeID: id, RevokeReason: reason, RevokeError: wrong}, nil)
		})
	}
	return store.ErrNotFound
}

func (d ownerPages) showReadKeys(c echo.Context, status int, v view.ReadKeysView, wrong site.FormErrors) error {
	owner, err := d.Owner(c)
	if err != nil {
		return err
	}
	all, err := d.Registry.ReadKeys.List(c.Request().Context(), registry.ScopeOf(owner.ID), owner.ID)
	if err != nil {
		return err
	}
	v.Action, v.Closed, v.Now, v.Total, v.Wrong = d.Href("/keys"), site.Waits(c.Request().Context(), owner), d.Cfg.Now(), len(all), wrong
	paging := site.PagePaging(c)
	v.Pager = site.Pager(c, paging, len(all))
	for _, key := range site.OnPage(all, paging) {
		v.Rows = append(v.Rows, d.readKeyRow(key))
	}
	v.Example = "curl --header \"Authorization: Bearer $SCHAKEL_KEY\" " + d.Absolute(contractsPath)
	v.Renovate = renovateExample(d.Absolute(contractsPath), d.Absolute(""))
	ctx := c.Request().Context()
	var crumbs []ui.Crumb
	if d.Base == site.PartnerHref(owner.ID) {
		crumbs = []ui.Crumb{{Label: i18n.T(ctx, "contracts.keys.partners"), Href: "/admin/partners"}, {Label: owner.Name, Href: d.Base}}
		if v.Closed != "" {
			v.Closed = keysClosed(ctx, owner)
		}
	}
	page := d.PageFrame(c, i18n.T(ctx, "contracts.keys.heading"), crumbs...)
	page.Lead = i18n.T(ctx, "contracts.keys.lead", owner.Name)
	page.Invalid = status != http.StatusOK
	return d.Render(c, status, view.ReadKeysPage(page, v))
}

// keysClosed explains to an administrator why the keys of a partner do not work.
func keysClosed(ctx context.Context, owner store.Partner) string {
	switch owner.Status {
	case store.PartnerRequested:
		return i18n.T(ctx, "contracts.keys.closed-requested", owner.Name)
	case store.PartnerSuspended:
		return i18n.T(ctx, "contracts.keys.closed-suspended", owner.Name)
	case store.PartnerRejected:
		return i18n.T(ctx, "contracts.keys.closed-rejected", owner.Name)
	}
	return i18n.T(ctx, "contracts.keys.closed-ended", owner.Name)
}

func (d ownerPages) readKeyRow(k store.ReadKey) view.ReadKeyRow {
	state := "active"
	switch {
	case !k.RevokedAt.IsZero():
		state = "revoked"
	case !identity.ReadKeyWorks(k, d.Cfg.Now()):
		state = "ended"
	}
	return view.ReadKeyRow{
		ID: k.ID, Name: k.Name, Hint: k.Hint, State: state, Reason: k.RevokeReason, CreatedBy: k.CreatedBy, RevokeHref: d.Href("/keys/" + url.PathEscape(k.ID) + "/revoke"),
		Created: k.CreatedAt.Time, Expires: k.ExpiresAt.Time, LastUsed: k.LastUsedAt.Time,
	}
}

// renovateExample is a configuration with which Renovate follows contracts (EDU-N06),
// in a repository with lines such as "student-events@1.2.0" in its contracts.txt.
// With a host the requests to it carry a read-only key, which Renovate keeps as a
// secret; without one no key is needed.
func renovateExample(contracts, host string) string {
	rules := ""
	if host != "" {
		rules = `,
  "hostRules": [{"matchHost": "` + host + `", "token": "{{ secrets.SCHAKEL_KEY }}"}]`
	}
	return `{
  "customDatasources": {
    "schakel": {"defaultRegistryUrlTemplate": "` + contracts + `/{{packageName}}/releases"}
  },
  "customManagers": [{
    "customType": "regex",
    "managerFilePatterns": ["/contracts\\.txt$/"],
    "matchStrings": ["(?<depName>[a-z0-9-]+)@(?<currentValue>\\S+)"],
    "datasourceTemplate": "custom.schakel",
    "versioningTemplate": "semver"
  }]` + rules + `
}`
}
