package templates

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
)

// now is the fixed clock of the rendering tests.
func now() time.Time { return time.Date(2026, 11, 21, 14, 3, 5, 0, time.UTC) }

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

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(t.Context(), &out); err != nil {
		t.Fatalf("render: %v", err)
	}
	return out.String()
}

func parse(t *testing.T, doc string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return root
}

// elements lists all elements of a tree in document order.
func elements(root *html.Node) []*html.Node {
	var list []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func text(n *html.Node) string {
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
