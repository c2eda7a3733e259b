package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/ui"
)

// desk is the set of pages about what one organisation has: a partner's own
// below /partner, and for administrators those of the organisation that runs
// this Schakel below another base. The owner comes from who is logged in, never
// from the address or the form (guarantee G7).
type desk struct {
	*portal
	base string // "/partner"
	// deliveries is the address of the list of deliveries of this reader.
	deliveries string
	owner      func(echo.Context) (store.Partner, error)
}

// partnerDesk is the desk of whoever is logged in for a partner.
func (p *portal) partnerDesk() desk {
	return desk{portal: p, base: "/partner", deliveries: "/partner/deliveries", owner: func(c echo.Context) (store.Partner, error) {
		return p.Registry.Partners.Get(c.Request().Context(), registry.ScopeOf(partnerID(c)), partnerID(c))
	}}
}

// ownDesk is the desk of administrators for the own organisation; its routes
// must be behind requireAdministrator.
func (p *portal) ownDesk(base string) desk {
	return desk{portal: p, base: base, deliveries: "/admin/deliveries", owner: func(c echo.Context) (store.Partner, error) {
		return p.Registry.Partners.Own(c.Request().Context())
	}}
}

// routes registers the pages about endpoints, clients and subscriptions.
func (d desk) routes(g routeGroup) {
	d.routesEndpoints(g)
	d.routesClients(g)
	d.routesSubscriptions(g)
}

// pageFrame returns the frame of a page of this organisation, with its breadcrumbs.
func (d desk) pageFrame(c echo.Context, title string, crumbs ...ui.Crumb) ui.Page {
	page := d.page(c, title)
	page.Crumbs = append(append(page.Crumbs, crumbs...), ui.Crumb{Label: title})
	return page
}

// href returns the address of a page of this organisation.
func (d desk) href(path string) string { return d.base + path }

// replays returns the address that counts the events which an endpoint or a subscription never got.
func (d desk) replays(what, id string) string {
	return strings.TrimSuffix(d.deliveries, "/deliveries") + "/replays?" + url.Values{what: {id}}.Encode()
}

// waits explains why an organisation cannot add or change things yet; empty when it can.
func waits(owner store.Partner) string {
	switch owner.Status {
	case store.PartnerApproved:
		return ""
	case store.PartnerRequested:
		return "Your registration waits for approval. You can look around; adding and changing starts once it is approved."
	case store.PartnerSuspended:
		return "Your organisation is suspended. You can look, but nothing is exchanged and nothing can be changed until the administrator lifts it."
	case store.PartnerRejected:
		return "Your registration was rejected, so nothing can be added or changed."
	}
	return "The exchange with your organisation has ended, so nothing can be added or changed."
}

// settled ends an action: on to a page of ours with a message. What the state
// of a thing did not allow is told on that page, too.
func (d desk) settled(c echo.Context, err error, href, text string) error {
	if e, ok := errors.AsType[*registry.Error](err); ok && len(e.Fields) == 0 &&
		(e.Code == registry.CodeConflict || e.Code == registry.CodeForbidden) {
		d.flash(c, ui.KindWarning, e.Message)
		return c.Redirect(http.StatusSeeOther, href)
	}
	if err != nil {
		return err
	}
	return d.done(c, href, text)
}

// refused gives what is wrong with a form by field; ok is false for any other error.
func refused(err error) (fields map[string]string, ok bool) {
	e, ok := errors.AsType[*registry.Error](err)
	if !ok || len(e.Fields) == 0 {
		return nil, false
	}
	return e.Fields, true
}

// slicePage cuts one page out of a list that is read whole.
func slicePage[T any](rows []T, p Paging) []T {
	from := min(p.Offset(), len(rows))
	return rows[from:min(from+p.Limit(), len(rows))]
}
