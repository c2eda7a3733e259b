package site

import (
	"context"
	"errors"
	"fmt"

	"schakel/delivery/jwe"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
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

// EncryptionOf returns how the engine encrypts the data of a delivery: that of a test as of a real event of its type; nil for not at all.
func (p *Portal) EncryptionOf(ctx context.Context, d store.Delivery, s store.Subscription) (*store.Encryption, error) {
	switch {
	case p.Encrypter == nil:
		return nil, nil
	case d.SubscriptionID == "":
		return p.TestEncryption(ctx, d.EndpointID, d.EventType)
	case s.Encrypt == "":
		return nil, nil
	}
	return &store.Encryption{SubscriptionID: s.ID, Recipient: s.Encrypt, Seed: s.EncryptSeed}, nil
}

// TestEncryption returns how the data of a test event of a type is encrypted at an endpoint; nil for not at all.
func (p *Portal) TestEncryption(ctx context.Context, endpointID, eventType string) (*store.Encryption, error) {
	if p.Encrypter == nil {
		return nil, nil
	}
	known, err := p.DB.Sendings(ctx)
	if err != nil {
		return nil, fmt.Errorf("read how subscriptions are sent: %w", err)
	}
	return known[endpointID].ForTest(eventType), nil
}

// EncryptedView says with which key data leaves encrypted, or why it cannot be now, and leads to the encryption of the subscription below base; nil for
// data in the clear.
func (p *Portal) EncryptedView(ctx context.Context, e *store.Encryption, base string) *ui.EncryptedView {
	if e == nil {
		return nil
	}
	v := &ui.EncryptedView{Href: base + "/subscriptions/" + e.SubscriptionID}
	key, err := p.Encrypter.Key(ctx, e.Recipient)
	switch wrong, known := errors.AsType[*jwe.Problem](err); {
	case known:
		v.Trouble = i18n.T(ctx, "partners.encrypt.trouble", wrong.Message)
	case err != nil:
		v.Trouble = i18n.T(ctx, "verdict.error.encryption")
	case key.ID == "":
		v.Key = i18n.T(ctx, "ui.encrypted-thumbprint", key.Thumbprint())
	default:
		v.Key = i18n.T(ctx, "ui.encrypted-kid", key.ID)
	}
	return v
}
