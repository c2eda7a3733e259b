package site

import (
	"context"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/ui"
)

// Waiting counts the items that wait for someone's attention; the navigation shows it.
// Waiting counts what waits for the reader of the menu.
type Waiting struct {
	Registrations, Subscriptions, Clients int
	Errors, DeadLetters, Quarantined      int
	Held                                  int // of a partner: all that is held for it, whatever for
	Publications                          int
	Mirrors                               int // with an alarm that is not settled
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
	case account.Role == store.RoleAdministrator:
		return "/admin"
	}
	return "/partner"
}

// navigation is the menu of whoever is asking.
func (a *App) navigation(c echo.Context, account *store.Account) []ui.NavItem {
	var items []ui.NavItem
	switch {
	case account == nil:
		items = visitorItems()
	case account.Role == store.RoleAdministrator:
		items = administratorItems(a.Waiting(c, ""))
	default:
		items = partnerItems(a.Waiting(c, account.PartnerID))
	}
	markCurrent(items, menuPath(c.Request().URL.Path))
	return items
}

// Waiting counts what waits for the reader of a page: a partner, or administrators for "".
func (a *App) Waiting(c echo.Context, partnerID string) Waiting {
	if a.Cfg.Navigation == nil {
		return Waiting{}
	}
	return a.Cfg.Navigation.Waiting(c.Request().Context(), partnerID)
}

func visitorItems() []ui.NavItem {
	return []ui.NavItem{
		{Label: "Contracts", Href: "/contracts"},
		{Label: "Event types", Href: "/event-types"},
		{Label: "Register your organisation", Href: "/register"},
	}
}

func administratorItems(w Waiting) []ui.NavItem {
	return []ui.NavItem{
		{Label: "Overview", Href: "/admin"},
		{Label: "Partners", Href: "/admin/partners", Waiting: "/admin/partners?status=requested", Count: w.Registrations, Group: "Agreed"},
		{Label: "Subscriptions", Href: "/admin/subscriptions", Waiting: "/admin/subscriptions?status=requested", Count: w.Subscriptions, Group: "Agreed"},
		{Label: "Clients", Href: "/admin/clients", Waiting: "/admin/clients#waiting", Count: w.Clients, Group: "Agreed"},
		{Label: "Read-only keys", Href: "/admin/keys", Group: "Agreed"},
		{Label: "Endpoints", Href: "/admin/endpoints", Group: "Agreed"},
		{Label: "Routes", Href: "/admin/routes", Group: "Agreed"},
		{Label: "Contracts", Href: "/contracts", Waiting: "/contracts#requested", Count: w.Publications, Group: "Agreed"},
		{Label: "Event types", Href: "/event-types", Group: "Agreed"},
		{Label: "Datasets", Href: "/admin/datasets", Group: "Agreed"},
		{Label: "Mirrors", Href: "/admin/mirrors", Waiting: "/admin/mirrors?alarms=open", Count: w.Mirrors, Group: "Agreed"},
		{Label: "Traffic", Href: "/admin/traffic", Group: "Moving"},
		{Label: "Events", Href: "/admin/events", Group: "Moving"},
		{Label: "Deliveries", Href: "/admin/deliveries", Group: "Moving"},
		{Label: "Issues", Href: "/admin/issues", Group: "Moving"},
		{Label: "Error queue", Href: "/admin/errors", Count: w.Errors, Group: "Moving"},
		{Label: "Dead letters", Href: "/admin/dead-letters", Count: w.DeadLetters, Group: "Moving"},
		{Label: "Quarantine", Href: "/admin/quarantine", Waiting: "/admin/quarantine?state=open", Count: w.Quarantined, Group: "Moving"},
		{Label: "AMQP", Href: "/admin/amqp", Waiting: "/admin/amqp/messages?state=attention", Count: w.AMQP, Group: "Moving"},
		{Label: "Settings", Href: "/admin/settings", Group: "This Schakel"},
		{Label: "Audit trail", Href: "/admin/audit", Group: "This Schakel"},
		{Label: "Mails", Href: "/admin/mails", Group: "This Schakel"},
		{Label: "Administrators", Href: "/admin/accounts", Group: "This Schakel"},
		{Label: "Your account", Href: "/account", Group: "This Schakel"},
	}
}

func partnerItems(w Waiting) []ui.NavItem {
	return []ui.NavItem{
		{Label: "Overview", Href: "/partner"},
		{Label: "Subscriptions", Href: "/partner/subscriptions", Group: "Your organisation"},
		{Label: "Endpoints", Href: "/partner/endpoints", Group: "Your organisation"},
		{Label: "Clients", Href: "/partner/clients", Group: "Your organisation"},
		{Label: "Read-only keys", Href: "/partner/keys", Group: "Your organisation"},
		{Label: "Traffic", Href: "/partner/traffic", Group: "Your organisation"},
		{Label: "Deliveries", Href: "/partner/deliveries", Group: "Your organisation"},
		{Label: "Issues", Href: "/partner/issues", Group: "Your organisation"},
		{Label: "Held deliveries", Href: "/partner/deliveries?status=held", Count: w.Held, Group: "Your organisation"},
		{Label: "Dead letters", Href: "/partner/deliveries?status=dead", Count: w.DeadLetters, Group: "Your organisation"},
		{Label: "Contracts", Href: "/contracts", Group: "Catalogue"},
		{Label: "Event types", Href: "/event-types", Group: "Catalogue"},
		{Label: "Datasets", Href: "/partner/datasets", Group: "Catalogue"},
		{Label: "Your account", Href: "/account", Group: "You"},
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

// markCurrent marks the item with the longest address that the page is on or under.
func markCurrent(items []ui.NavItem, path string) {
	best := -1
	for i, item := range items {
		under := path == item.Href || strings.HasPrefix(path, item.Href+"/")
		if under && (best < 0 || len(item.Href) > len(items[best].Href)) {
			best = i
		}
	}
	if best >= 0 {
		items[best].Current = true
	}
}
