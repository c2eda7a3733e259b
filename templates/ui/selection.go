package ui

import (
	"strconv"
	"time"
)

// SelectionView is the part of a form that says which events of its types a subscription gets, and in which order. All
// values are as typed.
type SelectionView struct {
	Rows []FilterRow
	// Dedupe leaves repeated events out.
	Dedupe bool
	// Others is a JSON list of what the rows cannot say.
	Others            string
	Order, OrderOther string
	Retry             RetryView
	Wrong             map[string]string
	// MoreAction is the address that the button for more rows posts to.
	MoreAction string
}

// FilterRow is one comparison; Comparison is a value of comparisons.
type FilterRow struct {
	Attribute, Comparison, Value string
}

// FilterControl is the name and id of a control of a row, counted from 0; part is attribute, comparison or value.
func FilterControl(row int, part string) string { return "filter-" + strconv.Itoa(row) + "-" + part }

// FilterRows limits the comparisons in the form; a longer filter is written as JSON.
const FilterRows = 20

// OrderOther is the choice of an order by an attribute that is typed.
const OrderOther = "other"

func comparisons() []Option {
	return []Option{
		{Value: "exact", Label: "is"},
		{Value: "not-exact", Label: "is not"},
		{Value: "prefix", Label: "begins with"},
		{Value: "not-prefix", Label: "does not begin with"},
		{Value: "suffix", Label: "ends with"},
		{Value: "not-suffix", Label: "does not end with"},
	}
}

func orders() []Option {
	return []Option{
		{Value: "", Label: "No order: as fast as possible"},
		{Value: "subject", Label: "In order for each subject"},
		{Value: "partitionkey", Label: "In order for each partitionkey"},
		{Value: OrderOther, Label: "In order for each value of another attribute"},
	}
}

func (v SelectionView) field(row int, part, label, value string) Field {
	name := FilterControl(row, part)
	return Field{Name: name, Label: label, Value: value, Error: v.Wrong[name]}
}

// Labels gives the controls of the selection with their labels, in the order of the form, so that a summary of problems can link
// to them.
func (v SelectionView) Labels() []Labelled {
	var list []Labelled
	for i := range v.Rows {
		for _, part := range []string{"attribute", "comparison", "value"} {
			list = append(list, Labelled{FilterControl(i, part), "Filter " + strconv.Itoa(i+1)})
		}
	}
	list = append(list, Labelled{"filters", "Filters as JSON"})
	return append(list, append([]Labelled{{"orderBy", "Order"}, {"orderOther", "Other attribute"}}, retryLabels()...)...)
}

// PreviewView shows which recent events filters let pass.
type PreviewView struct {
	// Rows are some of the events: those that pass first, then the others, newest first.
	Rows []PreviewRow
	// Matching counts the events that pass, of Total that were tried.
	Matching, Total int
	// Withheld are the types of which nothing is shown, because they were not granted yet.
	Withheld []string
	Now      time.Time
}

// PreviewRow is one event.
type PreviewRow struct {
	ID, Type, Subject string
	Accepted          time.Time
	Match             bool
	// OtherVersion is set for an event that fits other versions of its type than the one chosen.
	OtherVersion bool
}

func (v PreviewView) table() TableView {
	return TableView{
		ID: "preview", Caption: "Preview: " + Count(v.Matching) + " of " + Plural(v.Total, "recent event passes", "recent events pass"),
		Total: len(v.Rows), Noun: [2]string{"event listed", "events listed"},
		Columns: []Column{{Label: "Event"}, {Label: "Event type"}, {Label: "Subject"}, {Label: "Accepted"}, {Label: "Passes"}},
		Empty:   Empty{Text: "There are no recent events of these types that you get. Look again when some have come."},
	}
}

// SelectionFormView changes which events a subscription gets. All values are as typed.
type SelectionFormView struct {
	Action, Cancel string
	Types          []string
	State          string
	Selection      SelectionView
	Preview        *PreviewView
}

func (v SelectionFormView) consequence() string {
	if v.State == "requested" {
		return "Your request keeps waiting for the administrator, with these filters."
	}
	return "Filters and order count for events accepted from now on; what waits already is sent as it was. How it is retried counts for all. The subscription stays approved."
}

func (v SelectionView) attribute(i int, row FilterRow) Field {
	f := v.field(i, "attribute", "Attribute", row.Attribute)
	f.MaxLength = 64
	return f
}

func (v SelectionView) comparison(i int, row FilterRow) Field {
	f := v.field(i, "comparison", "Comparison", row.Comparison)
	f.Options, f.Required = comparisons(), true
	return f
}

func (v SelectionView) value(i int, row FilterRow) Field {
	f := v.field(i, "value", "Value", row.Value)
	f.MaxLength = 1024
	return f
}
