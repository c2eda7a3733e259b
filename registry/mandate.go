package registry

import (
	"context"
	"strings"
	"time"

	"schakel/store"
)

// Mandate is an answer of the register of mandates about an intermediary, an organisation and a service (SEC-14).
type Mandate struct {
	Service, Organisation string // the organisation by its OIN
	Mandated              bool
	Unknown               bool      // the register could not be asked now; Mandated follows the choice of the operator
	Asked                 time.Time // when the register answered; zero for never
}

// Mandates judges who acts for another organisation.
type Mandates interface {
	// MaySend refuses an event of a partner whose source names another organisation that did not mandate it: an *Error of
	// CodeForbidden, or another error while the register cannot be asked.
	MaySend(ctx context.Context, sender store.Partner, eventType, source string) error
	// AudienceOf limits an event, by the attribute that names its recipient, to the partners that are the recipient or have its mandate. The
	// attribute is empty where the operator named none. The zero audience is everybody that is subscribed.
	AudienceOf(ctx context.Context, eventType, recipient string) (store.Audience, error)
	// RecipientAttribute names that attribute of events; empty for none.
	RecipientAttribute() string
	// Last lists what the register last said about an intermediary.
	Last(ctx context.Context, oin string) ([]Mandate, error)
}

// oinPrefix begins the URNs that name an organisation by its OIN (CE-08); they are compared without case in this part.
const oinPrefix = "urn:nld:oin:"

// OINIn returns the OIN that a URN begins with, or that a text is; ok is false for any other.
func OINIn(text string) (oin string, ok bool) {
	if len(text) > len(oinPrefix) && strings.EqualFold(text[:len(oinPrefix)], oinPrefix) {
		text = text[len(oinPrefix):]
		if end := strings.IndexAny(text, ":/?#"); end >= 0 {
			text = text[:end]
		}
	}
	oin = strings.ToUpper(text)
	return oin, len(oin) == 20 && AllOf(oin, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// IsOINOf reports whether an OIN is that of a partner: the one that is registered, or the one that follows from its number at the
// chamber of commerce.
func IsOINOf(oin string, p store.Partner) bool {
	return oin == p.OIN || p.OIN == "" && p.KVK != "" && oin == "00000003"+p.KVK+"0000"
}
