package api

import (
	"errors"
	"net/http"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/web/site"
)

// QueryTime reads an RFC 3339 time; "" is the zero time.
func QueryTime(name, raw string) (store.Time, error) {
	if raw == "" {
		return store.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, raw)
	if err != nil {
		return store.Time{}, site.FieldProblem(name, i18n.M("api.query-time", name))
	}
	return store.At(t), nil
}

// ResendProblem turns the refusal of a resend into a problem document.
func ResendProblem(err error) error {
	if errors.Is(err, outbox.ErrEventExpired) {
		return site.NewProblem(http.StatusConflict, "event-expired", site.Sentence(outbox.ErrEventExpired))
	}
	if errors.Is(err, outbox.ErrDataErased) {
		return site.NewProblem(http.StatusGone, "data-erased", "site.data-erased")
	}
	if errors.Is(err, outbox.ErrNotResendable) {
		return site.NewProblem(http.StatusConflict, "not-resendable", "api.not-resendable")
	}
	return err
}

// RenameField gives a field of a refusal the name it has in our JSON.
func RenameField(err error, from, to string) error {
	refused, ok := errors.AsType[*registry.Error](err)
	if !ok || refused.Fields[from] == "" {
		return err
	}
	renamed := *refused
	renamed.Fields = make(map[string]i18n.Message, len(refused.Fields))
	for name, text := range refused.Fields {
		if name == from {
			name = to
		}
		renamed.Fields[name] = text
	}
	return &renamed
}
