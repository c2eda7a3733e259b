package partners

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// encryptSeedPurpose binds the sealed seeds of encryptions to their use.
const encryptSeedPurpose = "subscription-encrypt-seed"

// OpenEncryptSeed opens the secret that what is random in the encryption of a subscription's data is derived from.
func OpenEncryptSeed(vault *registry.Vault, sealed string) ([]byte, error) {
	seed, err := vault.Open(encryptSeedPurpose, sealed)
	return seed, registry.Wrap("open seed of encryption", err)
}

// newSeed makes the sealed seed of an encryption; another one after each change.
func (s *Subscriptions) newSeed() string {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails: see crypto/rand
	return s.cfg.Vault.Seal(encryptSeedPurpose, seed)
}

// checkRecipient tidies whom data is encrypted for: a JWK, a JWK set or the address of one; empty for nobody. A set behind an address must be there
// now. Fields: encryption.
func (s *Subscriptions) checkRecipient(ctx context.Context, text string, wrong registry.Problems) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if s.cfg.CheckRecipient == nil {
		wrong.Add("encryption", "partners.encrypt.unused")
		return ""
	}
	text, why := s.cfg.CheckRecipient(ctx, text)
	wrong.Add("encryption", why)
	return text
}

// checkEncryptable refuses the encryption of what goes to a health party: its business messages are encrypted as agreed with it, and are not sent
// encrypted twice.
func checkEncryptable(ctx context.Context, tx *store.Tx, endpoint store.Endpoint, recipient string) error {
	if recipient == "" || endpoint.Kind != store.EndpointAMQP {
		return nil
	}
	party, err := tx.AMQPPartyByEndpoint(ctx, endpoint.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil && party.Kind == store.AMQPHealth:
		return registry.Invalid(registry.Problems{"encryption": "partners.encrypt.health"})
	}
	return registry.Wrap("find party of endpoint", err)
}

// SetEncryption changes whom the data of a subscription's events is encrypted for; empty for nobody. It holds for all that is sent from now on, and
// what was held because it could not be encrypted is sent. Fields: encryption.
func (s *Subscriptions) SetEncryption(ctx context.Context, actor registry.Actor, id, recipient string) error {
	wrong := registry.Problems{}
	recipient = s.checkRecipient(ctx, recipient, wrong)
	if err := wrong.Err(); err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		sub, partner, endpoint, err := lockSubscription(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		if err := registry.RequireApproved(partner); err != nil {
			return err
		}
		if sub.DatasetID != "" {
			return registry.Conflict("partners.encrypt.dataset")
		}
		if slices.Contains([]string{store.SubscriptionEnded, store.SubscriptionRejected}, sub.Status) {
			return registry.Conflict("partners.subscription.fixed", subscriptionState(sub.Status))
		}
		if err := checkEncryptable(ctx, tx, endpoint, recipient); err != nil {
			return err
		}
		before := sub
		if recipient == sub.Encrypt {
			return nil
		}
		if sub.Encrypt, sub.EncryptSeed = recipient, ""; recipient != "" {
			sub.EncryptSeed = s.newSeed()
		}
		if err := tx.UpdateSubscription(ctx, &sub); err != nil {
			return fmt.Errorf("change subscription: %w", err)
		}
		if err := tx.ReleaseUnencrypted(ctx, sub.ID); err != nil {
			return fmt.Errorf("release what could not be encrypted: %w", err)
		}
		what := subscriptionDetails(sub, partner, endpoint, "")
		what["encryption"], what["encryptionBefore"] = RecipientWords(sub.Encrypt), RecipientWords(before.Encrypt)
		if err := registry.Record(ctx, tx, actor, registry.ActionSubscriptionEncryption, subscriptionObject(sub), what); err != nil {
			return err
		}
		changes := registry.Differences(registry.ChangeOf("partners.mail.part-encryption", RecipientWords(before.Encrypt), RecipientWords(sub.Encrypt)))
		return s.cfg.MailChange(ctx, tx, actor, sub.PartnerID, i18n.M("partners.mail.encryption-subject", endpoint.Name, partner.Name),
			registry.ChangePages{Administrator: "/admin/subscriptions/" + sub.ID, Partner: registry.PartnerPath(partner) + "/subscriptions/" + sub.ID}, changes)
	})
}

// RecipientWords describes whom data is encrypted for: the address of a set, or the digest of one.
func RecipientWords(recipient string) string {
	if recipient == "" || !strings.HasPrefix(recipient, "{") {
		return recipient
	}
	sum := sha256.Sum256([]byte(recipient))
	return "JWK set SHA-256 " + hex.EncodeToString(sum[:8])
}
