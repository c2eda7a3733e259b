package templates

import (
	"fmt"
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

func TestPagerListsFirstLastAndNeighbours(t *testing.T) {
	t.Parallel()
	tests := []struct {
		page, total int
		want        string
	}{
		{1, 0, "[1]"},
		{1, 50, "[1]"},
		{1, 51, "[1 2]"},
		{1, 500, "[1 2 0 10]"},
		{5, 500, "[1 0 4 5 6 0 10]"},
		{10, 500, "[1 0 9 10]"},
		{99, 500, "[1 0 10]"},
	}
	for _, tt := range tests {
		p := Pager{Page: tt.page, PerPage: 50, Total: tt.total}
		if got := fmt.Sprint(p.around()); got != tt.want {
			t.Errorf("page %d of %d rows: %s, want %s", tt.page, tt.total, got, tt.want)
		}
	}
}

func TestListsThatWereNotCountedToTheEnd(t *testing.T) {
	t.Parallel()
	table := TableView{Total: 10_001, Most: 10_000, Noun: [2]string{"delivery", "deliveries"}}
	if got := table.count(); got != "More than 10,000 deliveries" {
		t.Errorf("count %q", got)
	}
	if table.Total = 10_000; table.count() != "10,000 deliveries" {
		t.Errorf("count %q", table.count())
	}
	for page, want := range map[int]string{1: "[1 2 0]", 3: "[1 2 3 4 0]", 200: "[1 0 199 200 201]", 300: "[1 0 299 300 301]"} {
		p := Pager{Page: page, PerPage: 50, Total: 10_000, More: true}
		if got := fmt.Sprint(p.around()); got != want {
			t.Errorf("page %d: %s, want %s", page, got, want)
		}
		if got := p.summary(); !strings.HasSuffix(got, " of more than 10,000") {
			t.Errorf("page %d: %s", page, got)
		}
	}
}
