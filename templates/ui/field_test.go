package ui

import (
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"schakel/templates/i18n"
	"schakel/templates/ui/uitest"
)

func TestFieldsTieHintAndErrorToTheControl(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(Field) templ.Component{
		"text": TextField, "area": TextArea, "select": Select, "file": FileField, "checkbox": Checkbox,
	}
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := draw(Field{Name: "oin", Label: "OIN", Hint: "20 digits", Error: "Too short", Required: true})
			control := uitest.Find(t, c, "id", "oin")
			if got, _ := uitest.Attr(control, "aria-describedby"); got != "oin-hint oin-error" {
				t.Errorf("aria-describedby = %q", got)
			}
			if got, _ := uitest.Attr(control, "aria-invalid"); got != "true" {
				t.Errorf("aria-invalid = %q", got)
			}
			if got, _ := uitest.Attr(control, "name"); got != "oin" {
				t.Errorf("name = %q", got)
			}
			if got := uitest.Text(uitest.Find(t, c, "id", "oin-error")); got != "Error: Too short" {
				t.Errorf("error text = %q", got)
			}
		})
	}
}

func TestGroupsTieHintAndErrorToTheGroup(t *testing.T) {
	t.Parallel()
	f := Field{Name: "kinds", Label: "Kinds", Error: "Choose one", Options: []Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}}
	for role, c := range map[string]templ.Component{"group": CheckboxGroup(f), "radiogroup": RadioGroup(f)} {
		group := uitest.Find(t, c, "role", role)
		if got, _ := uitest.Attr(group, "aria-describedby"); got != "kinds-error" {
			t.Errorf("%s: aria-describedby = %q", role, got)
		}
		if got, _ := uitest.Attr(uitest.Find(t, c, "id", "kinds"), "value"); got != "a" {
			t.Errorf("%s: the id of the field is on option %q, want the first", role, got)
		}
	}
}

func TestPasswordAndFileNeverCarryAValue(t *testing.T) {
	t.Parallel()
	for _, c := range []templ.Component{
		TextField(Field{Name: "f", Label: "F", Type: "password", Value: "hunter2"}),
		FileField(Field{Name: "f", Label: "F", Value: "hunter2"}),
	} {
		if doc := uitest.Render(t, c); strings.Contains(doc, "hunter2") {
			t.Errorf("the value is written: %s", doc)
		}
	}
}

func TestOptionalFieldsSaySo(t *testing.T) {
	t.Parallel()
	for required, want := range map[bool]string{true: "Name", false: "Name (optional)"} {
		c := TextField(Field{Name: "name", Label: "Name", Required: required})
		if got := uitest.Text(uitest.Find(t, c, "for", "name")); got != want {
			t.Errorf("label = %q, want %q", got, want)
		}
	}
}

func TestWhatPeopleTypedIsEscaped(t *testing.T) {
	t.Parallel()
	const bad = `"><script>alert(1)</script>`
	for name, c := range map[string]templ.Component{
		"text": TextField(Field{Name: "f", Label: bad, Hint: bad, Value: bad, Error: bad}),
		"area": TextArea(Field{Name: "f", Label: bad, Value: bad}),
		"pick": Select(Field{Name: "f", Label: "F", Options: []Option{{Value: bad, Label: bad}}}),
		"code": Code("c", bad, bad),
		"fact": DescriptionList([]Item{{Label: bad, Text: bad}}),
	} {
		if strings.Contains(uitest.Render(t, c), "<script>") {
			t.Errorf("%s: markup from outside is written as markup", name)
		}
	}
}

func TestErrorSummaryDrawsNothingWithoutErrors(t *testing.T) {
	t.Parallel()
	if got := uitest.Render(t, ErrorSummary(nil)); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestDangerActionOpensWhenTheReasonWasRefused(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{"": false, "Give a reason": true} {
		c := DangerAction(Danger{ID: "d", Label: "End", Action: "/end", Button: "End", ReasonName: "reason", ReasonError: i18n.Message(message)})
		if _, open := uitest.Attr(uitest.Find(t, c, "class", "schakel-danger"), "open"); open != want {
			t.Errorf("error %q: open = %v, want %v", message, open, want)
		}
	}
}

// TestNamedErrorsListEachProblemOnce: what belongs to no field stood twice in the summary of five forms.
func TestNamedErrorsListEachProblemOnce(t *testing.T) {
	t.Parallel()
	got := NamedErrors(map[string]i18n.Message{"": "It was changed meanwhile.", "name": "Too long.", "other": "Not known."}, Labelled{"name", "Name"})
	want := []FieldError{{Text: "It was changed meanwhile."}, {Field: "name", Text: i18n.M("ui.named-error", "Name", i18n.Message("Too long."))}, {Text: "Not known."}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
