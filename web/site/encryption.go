package site

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	return i18n.T(ctx, "partners.encrypt.by-set", strings.TrimPrefix(partners.RecipientWords(s.Encrypt), "JWK set SHA-256 "))
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

// EncryptedNotice names the key with which data leaves encrypted, or says why there is none now, and leads to the subscription below base that asks for
// it; nil for data in the clear.
func (p *Portal) EncryptedNotice(ctx context.Context, e *store.Encryption, base string) *ui.Notice {
	if e == nil {
		return nil
	}
	n := &ui.Notice{Kind: ui.KindInfo, At: ui.Named{Name: i18n.T(ctx, "ui.encrypted-subscription"), Href: base + "/subscriptions/" + e.SubscriptionID}}
	key, err := p.Encrypter.Key(ctx, e.Recipient)
	text := i18n.T(ctx, "ui.encrypted", i18n.M("ui.encrypted-kid", key.ID))
	switch wrong, known := errors.AsType[*jwe.Problem](err); {
	case known:
		n.Kind, text = ui.KindWarning, i18n.T(ctx, "partners.encrypt.trouble", wrong.Message)
	case err != nil:
		n.Kind, text = ui.KindWarning, i18n.T(ctx, "verdict.error.encryption")
	case key.ID == "":
		text = i18n.T(ctx, "ui.encrypted", i18n.M("ui.encrypted-thumbprint", key.Thumbprint()))
	}
	n.Texts = []string{text}
	return n
}
