package web

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"schakel/templates/ui"
)

// Bounds of a form of the portal.
const (
	maxFormBytes  = 256 << 10
	maxFormFields = 2000 // a bulk action ticks at most a page of rows, and some
)

// Form holds the posted fields. Values are trimmed and free of control characters
// when read with Get.
type Form struct {
	values url.Values
}

// readForm reads a urlencoded form; what is in the query string is not part of it.
func readForm(c echo.Context) (Form, error) {
	r := c.Request()
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		return newForm(nil) // a button without fields, pressed by a script
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return Form{}, echo.NewHTTPError(http.StatusUnsupportedMediaType, "Send this form as application/x-www-form-urlencoded.")
	}
	if err := r.ParseForm(); err != nil {
		return Form{}, badForm(err)
	}
	return newForm(r.PostForm)
}

// newForm checks the number of fields and their encoding.
func newForm(values url.Values) (Form, error) {
	count := 0
	for _, list := range values {
		for _, v := range list {
			if count++; count > maxFormFields {
				return Form{}, echo.NewHTTPError(http.StatusBadRequest, "The form has too many fields.")
			}
			if !utf8.ValidString(v) {
				return Form{}, echo.NewHTTPError(http.StatusBadRequest, "The form is not valid UTF-8.")
			}
		}
	}
	return Form{values}, nil
}

// Get is the first value under a name, trimmed, without control characters
// other than line ends and tabs.
func (f Form) Get(name string) string { return clean(f.values.Get(name)) }

// Raw is the first value under a name as it was typed: for passwords.
func (f Form) Raw(name string) string { return f.values.Get(name) }

// List is all values under a name, cleaned, without the empty ones.
func (f Form) List(name string) []string {
	var list []string
	for _, v := range f.values[name] {
		if v = clean(v); v != "" {
			list = append(list, v)
		}
	}
	return list
}

// Checked reports whether a checkbox was ticked.
func (f Form) Checked(name string) bool { return f.Get(name) != "" }

func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}

// formErrors collects what is wrong with a form, by the name of the field.
type formErrors map[string]string

// with adds what is wrong in other fields.
func (e formErrors) with(others map[string]string) formErrors {
	for name, text := range others {
		if e[name] == "" {
			e[name] = text
		}
	}
	return e
}

// summary lists the errors in the order of the fields given, those of no field last.
func (e formErrors) summary(order ...string) []ui.FieldError {
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
