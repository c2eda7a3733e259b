package ui

import (
	"time"

	"github.com/a-h/templ"
)

// Act is one thing that can be done at once: a button that posts to Action.
type Act struct {
	Kind          ButtonKind
	Label, Action string
	Hidden        []Hidden
}

// ActsView lists the actions on the subject of a page: at once, or after a reason.
type ActsView struct {
	Title string
	// Lead announces the effect; may be empty.
	Lead   string
	Plain  []Act
	Danger []Danger
}

func (v ActsView) empty() bool { return len(v.Plain)+len(v.Danger) == 0 }

// Errors lists the reasons that were refused.
func (v ActsView) Errors() []FieldError {
	var list []FieldError
	for _, d := range v.Danger {
		if d.ReasonError != "" {
			list = append(list, FieldError{Field: d.ID + "-reason", Text: d.ReasonError})
		}
	}
	return list
}

// Named is something that has a page of its own.
type Named struct {
	Name, Href string
}

// Link is a description-list value that leads to the page of something.
func (n Named) Link() templ.Component {
	if n.Href == "" {
		return PlainText(n.Name)
	}
	return Link(n.Name, n.Href)
}

// History is the audit trail of what a page is about.
type History struct {
	Moments []Moment
	Now     time.Time
	// MoreHref leads to the rest; empty when this is all.
	MoreHref string
}

// ClockItem is an item for a moment; one that has not come is left out.
func ClockItem(items []Item, label string, at, now time.Time) []Item {
	if at.IsZero() {
		return items
	}
	return append(items, Item{Label: label, Content: Clock(at, now)})
}

// TextItem is an item for a text; an empty one is left out.
func TextItem(items []Item, label, text string) []Item {
	if text == "" {
		return items
	}
	return append(items, Item{Label: label, Text: text})
}

// OneMessage is an error summary of a sentence that belongs to no field.
func OneMessage(text string) []FieldError {
	if text == "" {
		return nil
	}
	return []FieldError{{Text: text}}
}

// StateOptions are the states to filter a list by, any first.
func StateOptions(states ...string) []Option {
	options := []Option{{Label: "Any state"}}
	for _, s := range states {
		options = append(options, Option{Value: s, Label: StateLabel(s)})
	}
	return options
}

// GrantedType is an event type that a subscription is about.
type GrantedType struct {
	Name, Title, Href      string
	Contract               Named
	Status, Classification string
	// Known is false when no contract defines the type any more.
	Known bool
}
