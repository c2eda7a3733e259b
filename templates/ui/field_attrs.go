package ui

import (
	"strconv"

	"github.com/a-h/templ"
)

// attrs are the attributes that inputs, text areas and selects share.
func (f Field) attrs() templ.Attributes {
	a := templ.Attributes{"id": f.id(), "name": f.Name}
	set := func(key, value string) {
		if value != "" {
			a[key] = value
		}
	}
	set("aria-describedby", f.describedBy())
	set("autocomplete", f.Autocomplete)
	set("inputmode", f.InputMode)
	if f.MaxLength > 0 {
		a["maxlength"] = strconv.Itoa(f.MaxLength)
	}
	if f.Required {
		a["aria-required"] = "true"
	}
	if f.Error != "" {
		a["aria-invalid"] = "true"
	}
	return a
}

// inputAttrs adds what only an input has. A password never goes back out.
func (f Field) inputAttrs() templ.Attributes {
	a := f.attrs()
	a["type"] = f.inputType()
	if f.Pattern != "" {
		a["pattern"] = f.Pattern
	}
	if f.inputType() != "password" {
		a["value"] = f.Value
	}
	if f.inputType() == "file" {
		delete(a, "value")
		if f.Accept != "" {
			a["accept"] = f.Accept
		}
	}
	return a
}

func (f Field) file() Field {
	f.Type = "file"
	return f
}

// chosen is true for the option that is ticked: by its own mark, or because
// it is the value of the field.
func (f Field) chosen(o Option) bool {
	return o.Selected || (f.Value != "" && f.Value == o.Value)
}

func (f Field) optionAttrs(i int, o Option) templ.Attributes {
	if o.Hint == "" {
		return nil
	}
	return templ.Attributes{"aria-describedby": f.optionID(i) + "-note"}
}

func choiceClass(kind string) string {
	if kind == "radio" {
		return "utrecht-radio-button utrecht-radio-button--html-input"
	}
	return "utrecht-checkbox utrecht-checkbox--html-input"
}

func summaryTitle(n int) string {
	if n == 1 {
		return "There is a problem"
	}
	return "There are " + strconv.Itoa(n) + " problems"
}
