package templates

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

func errorDocument() templ.Component {
	return ui.ErrorPage(ui.Page{Title: "This page does not exist"}, ui.Failure{
		Status: 404, Detail: "The address may be mistyped, or what it named has been removed.",
		NextText: "Start from the list of contracts.", NextLabel: "Contracts", NextHref: "/contracts", Reference: "req_01HZX7",
	})
}

func TestErrorPageTellsStatusNextStepAndReference(t *testing.T) {
	t.Parallel()
	doc := uitest.Text(uitest.Parse(t, uitest.Render(t, errorDocument())))
	for _, want := range []string{"This page does not exist", "Status 404", "reference req_01HZX7", "Start from the list"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
