package site

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// OwnerPages serves the pages about what one organisation has: a partner's own
// below /partner, and for administrators those of the organisation that runs
// this Schakel below another base. The owner comes from who is logged in, never
// from the address or the form (guarantee G7).
type OwnerPages struct {
	*Portal
	Base string // "/partner"
	// Deliveries is the address of the list of deliveries of this reader.
	Deliveries string
	Owner      func(echo.Context) (store.Partner, error)
}

// PartnerPages serves whoever is logged in for a partner.
func (p *Portal) PartnerPages() OwnerPages {
	return OwnerPages{Portal: p, Base: "/partner", Deliveries: "/partner/deliveries", Owner: func(c echo.Context) (store.Partner, error) {
		return p.Registry.Partners.Get(c.Request().Context(), registry.ScopeOf(PartnerID(c)), PartnerID(c))
	}}
}

// OwnPages serves administrators for the own organisation; its routes
// must be behind requireAdministrator.
func (p *Portal) OwnPages(base string) OwnerPages {
	return OwnerPages{Portal: p, Base: base, Deliveries: "/admin/deliveries", Owner: func(c echo.Context) (store.Partner, error) {
		return p.Registry.Partners.Own(c.Request().Context())
	}}
}

// PageFrame returns the frame of a page of this organisation, with its breadcrumbs.
func (d OwnerPages) PageFrame(c echo.Context, title string, crumbs ...ui.Crumb) ui.Page {
	page := d.Page(c, title)
	page.Crumbs = append(append(page.Crumbs, crumbs...), ui.Crumb{Label: title})
	return page
}

// Href returns the address of a page of this organisation.
func (d OwnerPages) Href(path string) string { return d.Base + path }

// Replays returns the address that counts the events which an endpoint or a subscription never got.
func (d OwnerPages) Replays(what, id string) string {
	return strings.TrimSuffix(d.Deliveries, "/deliveries") + "/replays?" + url.Values{what: {id}}.Encode()
}

// Again returns the address that asks what to resend or replay to an endpoint since a moment.
func (d OwnerPages) Again(endpointID string) string {
	return strings.TrimSuffix(d.Deliveries, "/deliveries") + "/jobs/new?" + url.Values{"endpoint": {endpointID}}.Encode()
}

// Waits explains why an organisation cannot add or change things yet; empty when it can.
func Waits(ctx context.Context, owner store.Partner) string {
	switch owner.Status {
	case store.PartnerApproved:
		return ""
	case store.PartnerRequested:
		return i18n.T(ctx, "site.waits-requested")
	case store.PartnerSuspended:
		return i18n.T(ctx, "site.waits-suspended")
	case store.PartnerRejected:
		return i18n.T(ctx, "site.waits-rejected")
	}
	return i18n.T(ctx, "site.waits-ended")
}

// Settled ends an action: on to a page of ours with a message. What the state
// of a thing did not allow is told on that page, too.
func (p *Portal) Settled(c echo.Context, err error, href string, text i18n.Message) error {
	if e, ok := errors.AsType[*registry.Error](err); ok && len(e.Fields) == 0 &&
		(e.Code == registry.CodeConflict || e.Code == registry.CodeForbidden) {
		p.Flash(c, ui.KindWarning, e.Message)
		return c.Redirect(http.StatusSeeOther, href)
	}
	if err != nil {
		return err
	}
	return p.Done(c, href, text)
}

// SettledForm is Settled for a form, which shows a refusal itself.
func (d OwnerPages) SettledForm(c echo.Context, err error, href string, text i18n.Message) error {
	if _, wrong := FormRefusal(err); wrong != nil {
		return err
	}
	return d.Settled(c, err, href, text)
}

// Closed goes back to a page that says why nothing can be changed now, unless err.
func (d OwnerPages) Closed(c echo.Context, err error, path string) error {
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, d.Href(path))
}

// EndpointOf gives the id of an endpoint when it is this owner's: an
// administrator may use every endpoint, but not on these pages.
func (d OwnerPages) EndpointOf(c echo.Context, owner store.Partner, id string) (string, error) {
	endpoints, err := d.Registry.Endpoints.List(c.Request().Context(), registry.ScopeOf(owner.ID), owner.ID)
	if err != nil || !slices.ContainsFunc(endpoints, func(e store.Endpoint) bool { return e.ID == id }) {
		return "", err
	}
	return id, nil
}

// Dataset gives the address of a dataset for its follower.
func (d OwnerPages) Dataset(id string) string { return d.Href("/datasets/" + url.PathEscape(id)) }
