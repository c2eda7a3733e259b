package templates

import (
	"testing"

	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

// galleryPage is a page as an administrator with everything switched on sees it.
func galleryPage() ui.Page {
	return ui.Page{
		Title: "Dead letters", Lead: "Deliveries that are no longer tried. Nothing leaves this list by itself.",
		Badge:   ui.State("dead"),
		Actions: ui.LinkButton(ui.Secondary, "Download as CSV", "/admin/dead-letters.csv"),
		User:    &ui.UserView{Name: "Anna de Vries", Role: "Administrator", PartnerName: "Stichting Schakelhuis"},
		Nav: []ui.NavItem{
			{Label: "Overview", Href: "/admin"},
			{Label: "Registrations", Href: "/admin/registrations", Count: 3, Group: "Waiting"},
			{Label: "Dead letters", Href: "/admin/dead-letters", Current: true, Count: 1204, Group: "Waiting"},
			{Label: "Partners", Href: "/admin/partners", Group: "Exchange"},
			{Label: "Contracts", Href: "/contracts", Group: "Exchange"},
		},
		Crumbs:  []ui.Crumb{{Label: "Overview", Href: "/admin"}, {Label: "Queues", Href: "/admin/queues"}, {Label: "Dead letters", Href: ""}},
		Flash:   &ui.Flash{Kind: ui.KindOK, Text: "12 deliveries will be sent again within a minute."},
		Version: "0.1.0",
	}
}

// gallery renders every component on one page.
func gallery(t *testing.T) string {
	t.Helper()
	return uitest.Render(t, galleryDocument(galleryPage(), uitest.Now()))
}
