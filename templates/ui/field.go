package ui

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"schakel/templates/i18n"
)

// Field describes one question of a form, for every kind of control.
type Field struct {
	// Name is the key of the answer in the posted form.
	Name string
	// ID of the control; empty means the same as Name.
	ID    string
	Label string
	// Hint is one sentence between label and control.
	Hint string
	// Value as the person typed it, also when it was refused. A Field of
	// Type "password" never writes its Value.
	Value string
	// Type of a TextField: "text" (default), "email", "url", "password", ...
	Type string
	// Error describes the problem and its remedy; empty when all is well.
	Error i18n.Message
	// Required is false for what may stay empty; the label then says so.
	Required bool
	// Depends is set for what is needed with some of the other answers only: its
	// hint says with which, and the label does not call it optional.
	Depends      bool
	Autocomplete string
	InputMode    string
	Pattern      string
	MaxLength    int
	// Rows of a TextArea; 0 means 5.
	Rows int
	// Accept lists file types of a FileField, such as ".json,.yaml,.zip".
	Accept string
	// Options of Select, CheckboxGroup and RadioGroup.
	Options []Option
}

// TypeMoment is the type of a TextField that asks for a moment to the minute.
const TypeMoment = "datetime-local"

// Option is one choice of a Select, CheckboxGroup or RadioGroup.
type Option struct {
	Value, Label string
	// Hint stands below the label of a checkbox or radio button.
	Hint     string
	Selected bool
	Disabled bool
}

// FieldError is one line of an ErrorSummary: the id of the control that is
// wrong (empty when no single one is) and what is wrong with it.
type FieldError struct {
	Field string
	Text  i18n.Message
}

// Hidden is a value that a form carries along unseen.
type Hidden struct {
	Name, Value string
}

// FormView sets the address and the encoding of a Form.
type FormView struct {
	Action string
	// Multipart must be true when the form holds a FileField.
	Multipart bool
	Hidden    []Hidden
}

// Danger describes an action that cannot be taken back.
type Danger struct {
	// ID must be unique on the page: it names the reason field.
	ID string
	// Label opens the panel, such as "Reject this registration".
	Label string
	// Explain announces the effect in a sentence.
	Explain string
	Action  string
	Button  string
	// ReasonName is the form key of the reason; empty asks for no reason.
	ReasonName  string
	ReasonLabel string
	ReasonValue string
	ReasonError i18n.Message
	Hidden      []Hidden
}

func (f Field) id() string {
	if f.ID != "" {
		return f.ID
	}
	return f.Name
}

func (f Field) hintID() string  { return f.id() + "-hint" }
func (f Field) errorID() string { return f.id() + "-error" }

func (f Field) inputType() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

func (f Field) rows() string {
	if f.Rows == 0 {
		return "5"
	}
	return strconv.Itoa(f.Rows)
}

// optionID gives the first option the id of the field itself, so that a link
// of the error summary to the field lands on something that takes focus.
func (f Field) optionID(i int) string {
	if i == 0 {
		return f.id()
	}
	return f.id() + "-" + strconv.Itoa(i+1)
}

// describedBy names the hint and the error in reading order.
func (f Field) describedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.hintID())
	}
	if f.Error != "" {
		ids = append(ids, f.errorID())
	}
	return strings.Join(ids, " ")
}

func (d Danger) reason(ctx context.Context) Field {
	label := d.ReasonLabel
	if label == "" {
		label = i18n.T(ctx, "ui.reason")
	}
	return Field{
		Name: d.ReasonName, ID: d.ID + "-reason", Label: label,
		Value: d.ReasonValue, Error: d.ReasonError, Required: true, Rows: 3, MaxLength: 1000,
	}
}

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
	if f.Type == TypeMoment && strings.Count(f.Value, ":") == 2 { // a link named it to the second
		a["step"] = "1"
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

// firstFilters bounds the fields of a filter that always show; the others fold away until one of them is used.
const firstFilters = 4

// anyUsed reports whether a list is filtered by one of the fields, or one is wrong.
func anyUsed(fields []Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool {
		return f.Value != "" || f.Error != "" || slices.ContainsFunc(f.Options, func(o Option) bool { return o.Selected && o.Value != "" })
	})
}
