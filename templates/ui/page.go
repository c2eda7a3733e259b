package ui

import (
	"cmp"
	"context"
	"time"

	"github.com/a-h/templ"
	"schakel/templates/i18n"
)

// Page holds the data with which Layout draws the frame around the content of a page.
type Page struct {
	// Title is the text of the only h1 and the start of the window title.
	Title string
	// Lead is one sentence below the heading; empty leaves it out.
	Lead string
	// Badge stands beside the heading, mostly a State; nil leaves it out.
	Badge templ.Component
	// Actions stand at the end of the heading row; nil leaves them out.
	Actions templ.Component
	// Lang is the language of the page as a BCP 47 tag; empty means "en".
	Lang string
	// Here is the address of this page, to which the choice of a language comes back; empty offers none.
	Here string
	// At is when the page was made, which stands with Here on paper.
	At time.Time
	// Query is the text of the search field.
	Query string
	// User is the person who is logged in; nil for a visitor.
	User *UserView
	// Nav is the main navigation of this role; an empty Nav draws none.
	Nav []NavItem
	// Crumbs lead from the start to this page, the page itself last.
	Crumbs []Crumb
	// Flash is the outcome of the previous request, shown once.
	Flash *Flash
	// Outcome stands above the page: what came of an action that takes a while; nil leaves it out.
	Outcome templ.Component
	// Waits lead to what waits or was refused about the subject of the page.
	Waits []Named
	// Invalid puts "Error: " before the window title after a refused form.
	Invalid bool
	// Feed is the address of an Atom feed of what the page shows; empty is none.
	Feed string
	// Wide leaves all of the width to the content: the navigation is behind the menu button on every screen.
	Wide bool
	// Version of the program, for the footer.
	Version string
	// Branding has the name and looks of the organisation that runs the program.
	Branding Branding
	// Asset gives the address of a static file; nil means "/static/" + name.
	Asset func(name string) string
}

// Branding is the name, the logo and the style sheet of an organisation. Each may be empty: then the portal is called Schakel, has its
// logo, and no further style sheet.
type Branding struct {
	Name        string
	Logo, Theme string // addresses
}

func (b Branding) name() string { return cmp.Or(b.Name, "Schakel") }

// UserView is the logged-in person as the header shows them.
type UserView struct {
	Name string
	// Role is a word for people, such as "Administrator".
	Role string
	// PartnerName is the organisation the person acts for; may be empty.
	PartnerName string
}

// MenuBound bounds the counts of the menu, which is on every page: on PostgreSQL each dead letter that is counted may lie on a page of the
// disk that nobody has read lately.
const MenuBound = 1_000

// NavItem is one link of the main navigation.
type NavItem struct {
	Label, Href string
	// Current marks the page the reader is on or under.
	Current bool
	// Count is shown as a badge when above zero: what waits for the reader. More than MenuBound is shown as "1,000+".
	Count int
	// Waiting is the page that lists exactly what is counted; empty for Href.
	Waiting string
	// Group is a heading; items with the same Group stand together.
	Group string
}

// Crumb is one step of the breadcrumb trail. The last one needs no Href.
type Crumb struct {
	Label, Href string
}

// Flash is a message about what the last request did.
type Flash struct {
	Kind Kind
	Text i18n.Message
}

// Kind rates something from good to bad; it chooses colour, shape and role.
type Kind string

// The kinds of alerts and badges.
const (
	KindNeutral Kind = "neutral"
	KindInfo    Kind = "info"
	KindOK      Kind = "ok"
	KindWarning Kind = "warning"
	KindError   Kind = "error"
)

func (p Page) lang() string {
	if p.Lang == "" {
		return "en"
	}
	return p.Lang
}

func (p Page) asset(name string) string {
	if p.Asset == nil {
		return "/static/" + name
	}
	return p.Asset(name)
}

func (p Page) windowTitle(ctx context.Context) string {
	title := p.Title + " - " + p.Branding.name()
	if p.Invalid {
		return i18n.T(ctx, "ui.error") + " " + title
	}
	return title
}

func (p Page) home() string {
	if len(p.Crumbs) > 0 && p.Crumbs[0].Href != "" {
		return p.Crumbs[0].Href
	}
	return "/"
}

// navGroup is a run of navigation items under one heading.
type navGroup struct {
	name  string
	items []NavItem
}

func (p Page) navGroups() []navGroup {
	var groups []navGroup
	for _, item := range p.Nav {
		last := len(groups) - 1
		if last < 0 || groups[last].name != item.Group {
			groups = append(groups, navGroup{name: item.Group})
			last++
		}
		groups[last].items = append(groups[last].items, item)
	}
	return groups
}

// htmxConfig switches off what a strict Content-Security-Policy forbids: the
// style element that htmx adds for its indicator.
const htmxConfig = `{"includeIndicatorCSS":false}`

func (u UserView) where() string {
	if u.PartnerName == "" {
		return u.Role
	}
	return u.Role + ", " + u.PartnerName
}
