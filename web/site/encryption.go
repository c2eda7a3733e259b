package site

import (
	"context"

	"schakel/delivery/jwe"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
)

// EncryptionWords describes whom the data of a subscription is encrypted for.
func EncryptionWords(ctx context.Context, s store.Subscription) string {
	switch {
	case s.Encrypt == "":
		return i18n.T(ctx, "partners.encrypt.off")
	case jwe.IsAddress(s.Encrypt):
		return i18n.T(ctx, "partners.encrypt.by-address", s.Encrypt)
	}
	return i18n.T(ctx, "partners.encrypt.by-set", partners.RecipientWords(s.Encrypt))
}
