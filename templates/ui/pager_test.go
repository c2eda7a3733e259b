package ui

import (
	"fmt"
	"strings"
	"testing"
)

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
		{1, 200, "[1 2 3 4]"}, // a gap that hides one page only is no shorter than that page
		{4, 500, "[1 2 3 4 5 0 10]"},
		{7, 500, "[1 0 6 7 8 9 10]"},
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
	if got := table.count(t.Context()); got != "More than 10,000 deliveries" {
		t.Errorf("count %q", got)
	}
	if table.Total = 10_000; table.count(t.Context()) != "10,000 deliveries" {
		t.Errorf("count %q", table.count(t.Context()))
	}
	for page, want := range map[int]string{1: "[1 2 0]", 3: "[1 2 3 4 0]", 4: "[1 2 3 4 5 0]", 200: "[1 0 199 200 201]", 300: "[1 0 299 300 301]"} {
		p := Pager{Page: page, PerPage: 50, Total: 10_000, More: true}
		if got := fmt.Sprint(p.around()); got != want {
			t.Errorf("page %d: %s, want %s", page, got, want)
		}
		if got := p.summary(t.Context()); !strings.HasSuffix(got, " of more than 10,000") {
			t.Errorf("page %d: %s", page, got)
		}
	}
}
