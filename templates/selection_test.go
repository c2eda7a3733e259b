package templates

import (
	"strings"
	"testing"

	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

func TestSelectionPages(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		ui.FilterControl(0, "value"): "Fill in what.", ui.FilterControl(1, "attribute"): "Fill in an attribute.", "filters": "At /0: wrong.",
		"orderBy": "Choose another.", "orderOther": "Fill in the name.",
	}
	selection := ui.SelectionView{
		Rows:   []ui.FilterRow{{Attribute: "subject", Comparison: "not-prefix", Value: "<47>"}, {Comparison: "exact"}},
		Others: `[{"any":[]}]`, Order: ui.OrderOther, OrderOther: "Number", Wrong: wrong, MoreAction: "/here",
	}
	preview := &ui.PreviewView{
		Rows:     []ui.PreviewRow{{ID: "1", Type: "nl.a", Subject: "<b>", Accepted: uitest.Now(), Match: true}, {ID: "2", Type: "nl.a", Accepted: uitest.Now()}},
		Matching: 1, Total: 60, Withheld: []string{"nl.b"}, Now: uitest.Now(),
	}
	p := ui.Page{Title: "Filters and order", Invalid: true}
	for name, doc := range map[string]string{
		"change": uitest.Render(t, ui.SelectionFormPage(p, ui.SelectionFormView{Action: "/here", Cancel: "/back", Types: []string{"nl.a"}, State: "approved", Selection: selection, Preview: preview})),
		"new": uitest.Render(t, view.SubscriptionFormPage(p, view.SubscriptionFormView{
			Action: "/new", Types: []ui.Option{{Value: "nl.a", Label: "nl.a"}}, Endpoints: []ui.Option{{Value: "e", Label: "E"}}, Wrong: wrong, Selection: selection, Preview: preview,
		})),
		"show":  uitest.Render(t, view.SubscriptionPage(p, view.SubscriptionView{State: "approved", Endpoint: "Main", EndpointHref: "/e", DeliveriesHref: "/d", Filters: []string{"subject is “<b>”"}, OrderBy: "subject", ChangeHref: "/change", Now: uitest.Now()})),
		"empty": uitest.Render(t, ui.SelectionFormPage(p, ui.SelectionFormView{Action: "/here", State: "requested", Preview: &ui.PreviewView{}})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := uitest.Elements(uitest.Parse(t, doc))
			uitest.CheckPolicy(t, all)
			uitest.CheckReferences(t, all)
			uitest.CheckNames(t, all)
			uitest.CheckHeadings(t, all)
			if strings.Contains(doc, "<47>") || strings.Contains(doc, "<b>") {
				t.Error("what a stranger wrote is markup")
			}
		})
	}
}
