package templates

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestTableStatesCountSortAndBulkForm(t *testing.T) {
	t.Parallel()
	c := galleryTable(now())
	doc := text(parse(t, render(t, c)))
	for _, want := range []string{"Dead letters", "1,204 deliveries", "201 to 250 of 1,204", "Resend all 1,204 that match"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the table does not say %q", want)
		}
	}
	if got := text(find(t, c, "aria-sort", "descending")); got != "Since" {
		t.Errorf("the sorted column is %q", got)
	}
	if form, _ := attr(find(t, c, "value", "dlv_01HZX0000"), "form"); form != "dead-bulk" {
		t.Errorf("a tick box belongs to form %q", form)
	}
}

func TestEveryRowHasACellForEachColumn(t *testing.T) {
	t.Parallel()
	for _, n := range elements(parse(t, render(t, galleryTable(now())))) {
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
	c := with(Table(galleryEmpty()))
	if href, _ := attr(find(t, c, "class", "utrecht-button utrecht-button--secondary-action schakel-link-button"), "href"); href != "/partner/endpoints/new" {
		t.Errorf("the next step leads to %q", href)
	}
	if strings.Contains(render(t, c), "<table") {
		t.Error("an empty list draws a table")
	}
}
