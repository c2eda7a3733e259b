package templates

import (
	"strings"
	"testing"
)

func TestSelectionPages(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		FilterControl(0, "value"): "Fill in what.", FilterControl(1, "attribute"): "Fill in an attribute.", "filters": "At /0: wrong.",
		"orderBy": "Choose another.", "orderOther": "Fill in the name.",
	}
	selection := SelectionView{
		Rows:   []FilterRow{{Attribute: "subject", Comparison: "not-prefix", Value: "<47>"}, {Comparison: "exact"}},
		Others: `[{"any":[]}]`, Order: OrderOther, OrderOther: "Number", Wrong: wrong, MoreAction: "/here",
	}
	preview := &PreviewView{
		Rows:     []PreviewRow{{ID: "1", Type: "nl.a", Subject: "<b>", Accepted: now(), Match: true}, {ID: "2", Type: "nl.a", Accepted: now()}},
		Matching: 1, Total: 60, Withheld: []string{"nl.b"}, Now: now(),
	}
	p := Page{Title: "Filters and order", Invalid: true}
	for name, doc := range map[string]string{
		"change": render(t, SelectionFormPage(p, SelectionFormView{Action: "/here", Cancel: "/back", Types: []string{"nl.a"}, State: "approved", Selection: selection, Preview: preview})),
		"new": render(t, SubscriptionFormPage(p, SubscriptionFormView{
			Action: "/new", Types: []Option{{Value: "nl.a", Label: "nl.a"}}, Endpoints: []Option{{Value: "e", Label: "E"}}, Wrong: wrong, Selection: selection, Preview: preview,
		})),
		"show":  render(t, SubscriptionPage(p, SubscriptionView{State: "approved", Endpoint: "Main", EndpointHref: "/e", DeliveriesHref: "/d", Filters: []string{"subject is “<b>”"}, OrderBy: "subject", ChangeHref: "/change", Now: now()})),
		"empty": render(t, SelectionFormPage(p, SelectionFormView{Action: "/here", State: "requested", Preview: &PreviewView{}})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := elements(parse(t, doc))
			checkPolicy(t, all)
			checkReferences(t, all)
			checkNames(t, all)
			checkHeadings(t, all)
			if strings.Contains(doc, "<47>") || strings.Contains(doc, "<b>") {
				t.Error("what a stranger wrote is markup")
			}
		})
	}
}
