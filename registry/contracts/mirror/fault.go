package mirror

import (
	"errors"
	"strings"

	"schakel/templates/i18n"
)

// fault is an error of a source, or of its address, that is told to people.
type fault struct {
	text  i18n.Message
	cause error
}

func faulty(cause error, key string, args ...any) error { return &fault{i18n.M(key, args...), cause} }

// Error is the text in English, as errors are written.
func (f *fault) Error() string {
	text := strings.TrimSuffix(f.text.String(), ".")
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}

func (f *fault) Unwrap() error { return f.cause }

// Text tells people of an error of this package. What other packages say is shown as it stands.
func Text(err error) i18n.Message {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.text
	}
	text := err.Error()
	if text == "" {
		return ""
	}
	return i18n.Raw(strings.ToUpper(text[:1]) + text[1:] + ".")
}
