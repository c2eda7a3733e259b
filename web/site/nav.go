package site

import (
	"context"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Waiting counts what waits for the reader of the menu. Deliveries are counted up to [ui.MenuBound] + 1.
type Waiting struct {
	Registrations, Subscriptions, Clients int
	Errors, DeadLetters, Quarantined      int
	Publications                          int
	Mirrors                               int // with an alarm that is not settled
	Moves                                 int // changed destinations that wait for approval
	Confirmations                         int // actions that wait for a second person
	AMQP                                  int // dead letters, quarantined and held messages of brokers
}

// NavigationSource knows what the frame of a page shows of the database. It
// answers zero values rather than fail: a page is more than its navigation.
type NavigationSource interface {
	// Waiting counts for a partner, or for the administrator when partnerID is empty.
	Waiting(ctx context.Context, partnerID string) Waiting
	PartnerName(ctx context.Context, partnerID string) string
}

// HomeOf is the first page of an account, or of a visitor.
func HomeOf(account *store.Account) string {
	switch {
	case account == nil:
		return "/"
	case registry.OfOrganisation(*account):
		return "/admin"
	}
	return "/partner"
}

// navigation is the menu of whoever is asking.
func (a *App) navigation(c echo.Context, account *store.Account) []ui.NavItem {
	ctx := c.Request().Context()
	var items []ui.NavItem
	switch {
	case account == nil:
		items = visitorItems(ctx)
	case registry.OfOrganisation(*account):
		items = administratorItems(ctx, a.Waiting(c, ""))
	default:
		items = partnerItems(ctx, a.Waiting(c, account.PartnerID))
	}
	markCurrent(items, menuPath(c.Request().URL.Path), c.QueryParams())
	return items
}

// Waiting counts what waits for the reader of a page: a partner, or administrators for "".
func (a *App) Waiting(c echo.Context, partnerID string) Waiting {
	if a.Cfg.Navigation == nil {
		return Waiting{}
	}
	key := "waiting " + partnerID // the menu and a page that shows the same ask once
	if w, ok := c.Get(key).(Waiting); ok {
		return w
	}
	w := a.Cfg.Navigation.Waiting(c.Request().Context(), partnerID)
	c.Set(key, w)
	return w
}

func visitorItems(ctx context.Context) []ui.NavItem {
	return []ui.NavItem{
		{Label: i18n.T(ctx, "site.nav.contracts"), Href: "/contracts"},
		{Label: i18n.T(ctx, "site.nav.event-types"), Href: "/event-types"},
		{Label: i18n.T(ctx, "site.nav.register-your-organisation"), Href: "/register"},
	}
}

func administratorItems(ctx context.Context, w Waiting) []ui.NavItem {
	return []ui.NavItem{
		{Label: i18n.T(ctx, "site.nav.overview"), Href: "/admin"},
		{Label: i18n.T(ctx, "site.nav.partners"), Href: "/admin/partners", Waiting: "/admin/partners?status=requested", Count: w.Registrations, Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.subscriptions"), Href: "/admin/subscriptions", Waiting: "/admin/subscriptions?status=requested", Count: w.Subscriptions, Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.clients"), Href: "/admin/clients", Waiting: "/admin/clients#waiting", Count: w.Clients, Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.read-only-keys"), Href: "/admin/keys", Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.endpoints"), Href: "/admin/endpoints", Count: w.Moves, Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.routes"), Href: "/admin/routes", Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.flows"), Href: "/admin/flows", Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.contracts"), Href: "/contracts", Waiting: "/contracts#requested", Count: w.Publications, Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.event-types"), Href: "/event-types", Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.datasets"), Href: "/admin/datasets", Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.mirrors"), Href: "/admin/mirrors", Waiting: "/admin/mirrors?alarms=open", Count: w.Mirrors, Group: i18n.T(ctx, "site.nav.partners-and-agreements")},
		{Label: i18n.T(ctx, "site.nav.traffic"), Href: "/admin/traffic", Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.events"), Href: "/admin/events", Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.deliveries"), Href: "/admin/deliveries", Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.issues"), Href: "/admin/issues", Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.error-queue"), Href: "/admin/errors", Count: w.Errors, Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.dead-letters"), Href: "/admin/dead-letters", Count: w.DeadLetters, Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.quarantine"), Href: "/admin/quarantine", Waiting: "/admin/quarantine?state=open", Count: w.Quarantined, Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.amqp"), Href: "/admin/amqp", Waiting: "/admin/amqp/messages?state=attention", Count: w.AMQP, Group: i18n.T(ctx, "site.nav.traffic-group")},
		{Label: i18n.T(ctx, "site.nav.confirmations"), Href: ConfirmationsPath, Waiting: ConfirmationsPath + "?status=" + store.ConfirmationWaiting, Count: w.Confirmations, Group: i18n.T(ctx, "site.nav.administration")},
		{Label: i18n.T(ctx, "site.nav.installation"), Href: "/admin/installation", Group: i18n.T(ctx, "site.nav.administration")},
		{Label: i18n.T(ctx, "site.nav.settings"), Href: "/admin/settings", Group: i18n.T(ctx, "site.nav.administration")},
		{Label: i18n.T(ctx, "site.nav.audit-trail"), Href: "/admin/audit", Group: i18n.T(ctx, "site.nav.administration")},
		{Label: i18n.T(ctx, "site.nav.mails"), Href: "/admin/mails", Group: i18n.T(ctx, "site.nav.administration")},
		{Label: i18n.T(ctx, "site.nav.people"), Href: "/admin/accounts", Group: i18n.T(ctx, "site.nav.administration")},
		{Label: i18n.T(ctx, "site.nav.your-account"), Href: "/account", Group: i18n.T(ctx, "site.nav.administration")},
	}
}

func partnerItems(ctx context.Context, w Waiting) []ui.NavItem {
	return []ui.NavItem{
		{Label: i18n.T(ctx, "site.nav.overview"), Href: "/partner"},
		{Label: i18n.T(ctx, "site.nav.subscriptions"), Href: "/partner/subscriptions", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.endpoints"), Href: "/partner/endpoints", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.clients"), Href: "/partner/clients", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.read-only-keys"), Href: "/partner/keys", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.people"), Href: "/partner/people", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.traffic"), Href: "/partner/traffic", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.deliveries"), Href: "/partner/deliveries", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.issues"), Href: "/partner/issues", Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.error-queue"), Href: "/partner/deliveries?status=held&show=" + ShowRejected, Count: w.Errors, Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.dead-letters"), Href: "/partner/deliveries?status=dead", Count: w.DeadLetters, Group: i18n.T(ctx, "site.nav.your-organisation")},
		{Label: i18n.T(ctx, "site.nav.contracts"), Href: "/contracts", Group: i18n.T(ctx, "site.nav.catalogue")},
		{Label: i18n.T(ctx, "site.nav.event-types"), Href: "/event-types", Group: i18n.T(ctx, "site.nav.catalogue")},
		{Label: i18n.T(ctx, "site.nav.datasets"), Href: "/partner/datasets", Group: i18n.T(ctx, "site.nav.catalogue")},
		{Label: i18n.T(ctx, "site.nav.your-account"), Href: "/account", Group: i18n.T(ctx, "site.nav.you")},
	}
}

// menuPath is the address under which the menu has a page: what is done to
// contracts, and with what is their own organisation's, stands with the rest.
func menuPath(path string) string {
	for _, base := range []string{"/admin/contracts", "/partner/contracts"} {
		if rest, ok := strings.CutPrefix(path, base); ok {
			return "/contracts" + rest
		}
	}
	if rest, ok := strings.CutPrefix(path, "/admin/own/"); ok {
		return "/admin/" + rest
	}
	for _, area := range []string{"/admin", "/partner"} { // mutation files belong to datasets
		if rest, ok := strings.CutPrefix(path, area+"/mutations"); ok {
			return area + "/datasets" + rest
		}
	}
	if strings.HasPrefix(path, "/partner/amqp/") { // a party stands behind an endpoint
		return "/partner/endpoints"
	}
	for _, area := range []string{"/admin", "/partner"} { // what is sent again are deliveries
		for _, pages := range []string{"/jobs", "/replays", "/batches"} {
			if path == area+pages || strings.HasPrefix(path, area+pages+"/") {
				return area + "/deliveries"
			}
		}
	}
	return path
}

// markCurrent marks the item with the longest address that the page is on or under. An item that is a list with a filter is that of the
// list with the same filter, and maybe more.
func markCurrent(items []ui.NavItem, path string, query url.Values) {
	best := -1
	for i, item := range items {
		href, filter, _ := strings.Cut(item.Href, "?")
		under := path == href || strings.HasPrefix(path, href+"/")
		if filter != "" {
			under = path == href && filtered(query, filter)
		}
		if under && (best < 0 || len(item.Href) > len(items[best].Href)) {
			best = i
		}
	}
	if best >= 0 {
		items[best].Current = true
	}
}

// filtered reports whether a query has each value of a filter.
func filtered(query url.Values, filter string) bool {
	wanted, err := url.ParseQuery(filter)
	for name := range wanted {
		if query.Get(name) != wanted.Get(name) {
			return false
		}
	}
	return err == nil
}
