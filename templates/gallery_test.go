package templates

import "testing"

// galleryPage is a page as an administrator with everything switched on sees it.
func galleryPage() Page {
	return Page{
		Title: "Dead letters", Lead: "Deliveries that are no longer tried. Nothing leaves this list by itself.",
		Badge:   State("dead"),
		Actions: LinkButton(Secondary, "Download as CSV", "/admin/dead-letters.csv"),
		User:    &UserView{Name: "Anna de Vries", Role: "Administrator", PartnerName: "Stichting Schakelhuis"},
		Nav: []NavItem{
			{Label: "Overview", Href: "/admin"},
			{Label: "Registrations", Href: "/admin/registrations", Count: 3, Group: "Waiting"},
			{Label: "Dead letters", Href: "/admin/dead-letters", Current: true, Count: 1204, Group: "Waiting"},
			{Label: "Partners", Href: "/admin/partners", Group: "Exchange"},
			{Label: "Contracts", Href: "/contracts", Group: "Exchange"},
		},
		Crumbs:  []Crumb{{"Overview", "/admin"}, {"Queues", "/admin/queues"}, {"Dead letters", ""}},
		Flash:   &Flash{Kind: KindOK, Text: "12 deliveries will be sent again within a minute."},
		Version: "0.1.0",
	}
}

// gallery renders every component on one page.
func gallery(t *testing.T) string {
	t.Helper()
	return render(t, galleryDocument(galleryPage(), now()))
}
