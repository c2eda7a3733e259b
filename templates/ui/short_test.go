package ui

import (
	"strings"
	"testing"

	"github.com/a-h/templ"
	"schakel/templates/ui/uitest"
)

func TestLongNamesAreShortenedInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"":                                     {"", ""},
		"nl.a.v1":                              {"nl.a.v1", ""},
		"abcdefghijklmnopqr":                   {"abcdefghijklmnopqr", ""},
		"abcdefghijklmnopqrs":                  {"abcdefghijk", "lmnopqrs"},
		"éééééééééééééééééé":                   {"éééééééééééééééééé", ""},
		"dlv_01KAZ4J9X8Q2M6":                   {"dlv_01KAZ4J9X8Q2M6", ""},
		"dlv_01KAZ4J9X8Q2M6RTVW":               {"dlv_01KAZ4J9X8", "Q2M6RTVW"},
		"nl.kompas.enrolment.created":          {"nl.kompas.enrolment.", "created"},
		"nl.kompas.enrolment.created.v1":       {"nl.kompas.enrolment.", "created.v1"},
		"A school of St. John, in Voorbeeld":   {"A school of St. John, in V", "oorbeeld"},
		"nl." + strings.Repeat("x", 40):        {"nl." + strings.Repeat("x", 32), strings.Repeat("x", 8)},
		strings.Repeat("x", 40) + ".v1":        {strings.Repeat("x", 35), "xxxxx.v1"},
		"https://receiver.school.example/hook": {"https://receiver.school.", "example/hook"},
	} {
		first, last := halves(name)
		if first != want[0] || last != want[1] {
			t.Errorf("%q is parted in %q and %q, not in %q", name, first, last, want)
		}
	}
}

// What a column cannot show is in the title, and a screen reader is not given a name in two pieces.
func TestShortenedTextsGiveTheWhole(t *testing.T) {
	t.Parallel()
	const long = "nl.kompas.enrolment.created.v1"
	for name, c := range map[string]templ.Component{"short": Short(long), "middle": Middle(long), "id": ShortID(long), "link": ShortLink(long, "/e"), "or none": ShortOrNone(long)} {
		if got := uitest.Text(uitest.Find(t, c, "title", long)); got != long {
			t.Errorf("%s reads %q", name, got)
		}
	}
	link := uitest.Find(t, ShortLink(long, "/e"), "href", "/e")
	if label, _ := uitest.Attr(link, "aria-label"); label != long {
		t.Errorf("the link is called %q", label)
	}
	for name, c := range map[string]templ.Component{"short": Short("a"), "middle": Middle("a"), "id": ShortID("a"), "link": ShortLink("a", "/e")} {
		if doc := uitest.Render(t, c); strings.Contains(doc, "title") || !strings.Contains(doc, ">a<") && doc != "a" {
			t.Errorf("%s: %s", name, doc)
		}
	}
	for name, c := range map[string]templ.Component{"id": ShortID(""), "or none": ShortOrNone("")} {
		if doc, none := uitest.Render(t, c), uitest.Render(t, None()); doc != none {
			t.Errorf("%s without a text: %s", name, doc)
		}
	}
}

// A cell of a dense table has a box that is shortened, unless its column is whole, wraps or takes two lines; the other tables have none.
func TestDenseTables(t *testing.T) {
	t.Parallel()
	table := TableView{
		ID: "rows", Caption: "Rows", Total: 1, Dense: true,
		Columns: []Column{{Label: "Name"}, {Label: "State", Bare: true}, {Label: "Age", Whole: true}, {Label: "Count", Numeric: true}, {Label: "Text", Wrap: true}, {Label: "Long name", Two: true}, {Label: "Actions", Unseen: true}},
	}
	cells := func(string) Cells {
		return Cells{PlainText("n"), PlainText("s"), PlainText("a"), PlainText("c"), PlainText("t"), PlainText("l"), PlainText("b")}
	}
	boxes := func(c templ.Component) (classes, labels []string) {
		for _, n := range uitest.Elements(uitest.Parse(t, uitest.Render(t, c))) {
			class, _ := uitest.Attr(n, "class")
			if n.Data == "div" && strings.HasPrefix(class, "schakel-cell ") || class == "schakel-cell" {
				classes = append(classes, strings.TrimPrefix(class, "schakel-cell"))
			}
			if label, ok := uitest.Attr(n, "data-label"); ok {
				labels = append(labels, label)
			}
		}
		return classes, labels
	}
	classes, labels := boxes(Rows(table, []string{""}, cells))
	if got, want := strings.Join(classes, "|"), "|| schakel-cell--whole| schakel-cell--whole| schakel-cell--wrap| schakel-cell--two"; got != want {
		t.Errorf("the boxes are %q, not %q", got, want)
	}
	if got, want := strings.Join(labels, "|"), "Name||Age|Count|Text|Long name"; got != want {
		t.Errorf("a phone shows the labels %q, not %q", got, want)
	}
	table.Dense = false
	classes, labels = boxes(Rows(table, []string{""}, cells))
	if len(classes) > 0 || labels[1] != "State" {
		t.Errorf("a table that is not dense has the boxes %q and labels %q", classes, labels)
	}
}
