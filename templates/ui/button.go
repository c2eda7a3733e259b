package ui

import "github.com/a-h/templ"

// ButtonKind is the weight of a button. A page has one primary button.
type ButtonKind string

// The kinds of buttons.
const (
	Primary   ButtonKind = "primary"
	Secondary ButtonKind = "secondary"
	Subtle    ButtonKind = "subtle"
	Dangerous ButtonKind = "danger"
)

// Attrs are extra attributes of a button, such as name and value.
type Attrs = templ.Attributes

// Class gives the CSS classes of the design system for a button of this kind; an unknown kind looks secondary.
func (k ButtonKind) Class() string {
	switch k {
	case Primary:
		return "utrecht-button utrecht-button--primary-action"
	case Dangerous:
		return "utrecht-button utrecht-button--primary-action utrecht-button--danger"
	case Subtle:
		return "utrecht-button utrecht-button--subtle"
	default:
		return "utrecht-button utrecht-button--secondary-action"
	}
}

func merged(list []Attrs) Attrs {
	all := Attrs{}
	for _, attrs := range list {
		for k, v := range attrs {
			all[k] = v
		}
	}
	return all
}
