package templates

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"schakel/templates/ui"
	"schakel/templates/ui/uitest"
)

func TestTableStatesCountSortAndBulkForm(t *testing.T) {
	t.Parallel()
	c := galleryTable(uitest.Now())
	doc := uitest.Text(uitest.Parse(t, uitest.Render(t, c)))
	for _, want := range []string{"Dead letters", "1,204 deliveries", "201 to 250 of 1,204", "Resend all 1,204 that match"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the table does not say %q", want)
		}
	}
	if got := uitest.Text(uitest.Find(t, c, "aria-sort", "descending")); got != "Since" {
		t.Errorf("the sorted column is %q", got)
	}
	if form, _ := uitest.Attr(uitest.Find(t, c, "value", "dlv_01HZX0000"), "form"); form != "dead-bulk" {
		t.Errorf("a tick box belongs to form %q", form)
	}
}

func TestEveryRowHasACellForEachColumn(t *testing.T) {
	t.Parallel()
	for _, n := range uitest.Elements(uitest.Parse(t, uitest.Render(t, galleryTable(uitest.Now())))) {
		if n.Data != "tr" {
			continue
		}
		cells := 0
		for child := range n.ChildNodes() {
			if child.Type == html.ElementNode {
				cells++
			}
		}
		if cells != 7 {
			t.Errorf("a row has %d cells, want 7", cells)
		}
	}
}

func TestEmptyTableLeadsToTheNextStep(t *testing.T) {
	t.Parallel()
	c := uitest.With(ui.Table(galleryEmpty()))
	if href, _ := uitest.Attr(uitest.Find(t, c, "class", "utrecht-button utrecht-button--secondary-action schakel-link-button"), "href"); href != "/partner/endpoints/new" {
		t.Errorf("the next step leads to %q", href)
	}
	if strings.Contains(uitest.Render(t, c), "<table") {
		t.Error("an empty list draws a table")
	}
}
