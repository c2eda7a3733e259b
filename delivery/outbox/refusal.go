package outbox

import (
	"errors"
	"strings"

	"schakel/templates/i18n"
)

// Refusal is an error with a text for people: its message is a whole sentence.
type Refusal struct {
	Message i18n.Message
	of      error
}

// Error writes the message in English as errors are written: no capital, no full stop.
func (r *Refusal) Error() string {
	text := strings.TrimSuffix(r.Message.String(), ".")
	if text == "" {
		return "refused"
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// Unwrap returns the error that the refusal explains further; nil for one that stands by itself.
func (r *Refusal) Unwrap() error { return r.of }

// refusal makes an error that a caller branches on, with the key of its text.
func refusal(key i18n.Message) error { return &Refusal{Message: key} }

// RefusalText is the text of an error that people may read; "" for any other.
func RefusalText(err error) i18n.Message {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Message
	}
	return ""
}
