package site

import (
	"errors"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// Bounds of a form of the portal.
const (
	MaxFormBytes  = 256 << 10
	MaxFormFields = 2000 // a bulk action ticks at most a page of rows, and some

	MaxTicked      = maxPerPage // rows of a page of a list
	MaxReasonBytes = 1000
)

// Form holds the posted fields. Values are trimmed and free of control characters
// when read with Get.
type Form struct {
	values url.Values
}

// ReadForm reads a urlencoded form; what is in the query string is not part of it.
func ReadForm(c echo.Context) (Form, error) {
	r := c.Request()
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		return NewForm(nil) // a button without fields, pressed by a script
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return Form{}, echo.NewHTTPError(http.StatusUnsupportedMediaType, "site.form-urlencoded")
	}
	if err := r.ParseForm(); err != nil {
		return Form{}, BadForm(err)
	}
	return NewForm(r.PostForm)
}

// NewForm checks the number of fields and their encoding.
func NewForm(values url.Values) (Form, error) {
	count := 0
	for _, list := range values {
		for _, v := range list {
			if count++; count > MaxFormFields {
				return Form{}, echo.NewHTTPError(http.StatusBadRequest, "site.form-fields")
			}
			if !utf8.ValidString(v) {
				return Form{}, echo.NewHTTPError(http.StatusBadRequest, "site.form-utf8")
			}
		}
	}
	return Form{values}, nil
}

// Get is the first value under a name, trimmed, without control characters
// other than line ends and tabs.
func (f Form) Get(name string) string { return Clean(f.values.Get(name)) }

// Raw is the first value under a name as it was typed: for passwords.
func (f Form) Raw(name string) string { return f.values.Get(name) }

// List is all values under a name, cleaned, without the empty ones.
func (f Form) List(name string) []string {
	var list []string
	for _, v := range f.values[name] {
		if v = Clean(v); v != "" {
			list = append(list, v)
		}
	}
	return list
}

// Checked reports whether a checkbox was ticked.
func (f Form) Checked(name string) bool { return f.Get(name) != "" }

// Clean trims what was typed, with line ends of one kind and no control characters.
func Clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}

// FormErrors collects what is wrong with a form, by the name of the field.
type FormErrors map[string]i18n.Message

// With adds what is wrong in other fields.
func (e FormErrors) With(others map[string]i18n.Message) FormErrors {
	for name, text := range others {
		if e[name] == "" {
			e[name] = text
		}
	}
	return e
}

// Summary lists the errors in the order of the fields given, those of no field last.
func (e FormErrors) Summary(order ...string) []ui.FieldError {
	var list []ui.FieldError
	for _, name := range order {
		if text, ok := e[name]; ok {
			list = append(list, ui.FieldError{Field: name, Text: text})
		}
	}
	if text, ok := e[""]; ok {
		list = append(list, ui.FieldError{Text: text})
	}
	return list
}

// RegistrationForm reads the fields that registering and correcting a registration share.
func RegistrationForm(form Form) partners.Registration {
	return partners.Registration{
		Name: form.Get("name"), OIN: form.Get("oin"), KVK: form.Get("kvk"), BRIN: form.Get("brin"), HerID: form.Get("herId"), OrgNumber: form.Get("orgNumber"),
		Contact: partners.Contact{Name: form.Get("contactName"), Email: form.Get("email"), Phone: form.Get("phone")},
	}
}

// HiddenFields carries the first value of each name along in a form, by name: a page that is read twice has the same bytes.
func HiddenFields(values url.Values) []ui.Hidden {
	var list []ui.Hidden
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, ui.Hidden{Name: name, Value: values[name][0]})
	}
	return list
}

// Refused gives what is wrong with a form by field; ok is false for any other error.
func Refused(err error) (fields map[string]i18n.Message, ok bool) {
	e, ok := errors.AsType[*registry.Error](err)
	if !ok || len(e.Fields) == 0 {
		return nil, false
	}
	return e.Fields, true
}

// FormRefusal returns the problems of a form by field, and the status of the page
// that shows it; nil for any other error. A conflict with the state of things
// stands under the empty name.
func FormRefusal(err error) (status int, wrong FormErrors) {
	if shown, ok := errors.AsType[*FormRefused](err); ok {
		return shown.Status, shown.Wrong
	}
	if fields, ok := Refused(err); ok {
		return http.StatusUnprocessableEntity, fields
	}
	e, ok := errors.AsType[*registry.Error](err)
	if !ok || e.Code == registry.CodeForbidden || e.Code == registry.CodeNotFound {
		return 0, nil
	}
	if status = RegistryProblem(e).Status; e.Code == registry.CodeInvalid {
		status = http.StatusConflict
	}
	return status, FormErrors{"": e.Message}
}

// FormRefused is a refusal of a form that is no refusal of the registry.
type FormRefused struct {
	Status int
	Wrong  FormErrors
}

// Error implements error.
func (e *FormRefused) Error() string { return "form refused" }

// FormNumber reads a whole number; an empty field is 0.
func FormNumber(form Form, name string, wrong FormErrors) int64 {
	text := form.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		wrong[name] = "site.whole-number"
	}
	return n
}

// NumberText writes a number for a field; 0 leaves it empty.
func NumberText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Submit handles a posted form, whatever it is about: it reads the fields, and saves what was typed, which answers with a
// redirect. What is refused with words for people is shown again, with the problems beside the fields and their status.
func Submit[In any](c echo.Context, read func(Form) In, save func(In) error, again func(c echo.Context, status int, in In, wrong FormErrors) error) error {
	form, err := ReadForm(c)
	if err != nil {
		return err
	}
	return SubmitRead(c, read(form), save, again)
}

// SubmitRead is Submit for what was read already, such as a form with a file.
func SubmitRead[In any](c echo.Context, in In, save func(In) error, again func(c echo.Context, status int, in In, wrong FormErrors) error) error {
	err := save(in)
	if status, wrong := FormRefusal(err); wrong != nil {
		return again(c, status, in, wrong)
	}
	return err
}

// SubmitAbout is Submit for a page that makes and changes things of one kind: about is the thing, or its zero for a new one.
func SubmitAbout[About, In any](c echo.Context, about About, read func(Form) In, save func(In) error,
	again func(c echo.Context, status int, about About, in In, wrong FormErrors) error,
) error {
	return Submit(c, read, save, func(c echo.Context, status int, in In, wrong FormErrors) error {
		return again(c, status, about, in, wrong)
	})
}

// WithReason handles a button that asks why. A reason that check or do refuses is shown again beside its field.
func WithReason(c echo.Context, check func(reason string) (wrong i18n.Message), do func(reason string) error, again func(reason string, wrong i18n.Message) error) error {
	form, err := ReadForm(c)
	if err != nil {
		return err
	}
	reason := form.Get("reason")
	if wrong := check(reason); wrong != "" {
		return again(reason, wrong)
	}
	err = do(reason)
	if fields, ok := Refused(err); ok && fields["reason"] != "" {
		return again(reason, fields["reason"])
	}
	return err
}

// AnyReason is the check of a reason that is left to the registry.
func AnyReason(string) i18n.Message { return "" }

// ShortReason describes the problem of a reason of a few letters; "" when it will do.
func ShortReason(reason string) i18n.Message {
	if len([]rune(reason)) < 3 {
		return "site.reason-short"
	}
	return ""
}

// ReasonError describes the problem of a reason that is missing or too long; "" when it will do.
func ReasonError(reason string) i18n.Message {
	switch {
	case reason == "":
		return "site.reason-missing"
	case len(reason) > MaxReasonBytes:
		return i18n.M("site.reason-long", MaxReasonBytes)
	}
	return ""
}
