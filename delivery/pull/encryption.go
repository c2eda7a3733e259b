package pull

import (
	"context"
	"errors"

	"schakel/delivery/jwe"
	"schakel/store"
	"schakel/templates/i18n"
)

// EncryptionError: the data cannot be encrypted now, so nothing was leased. Text explains why.
type EncryptionError struct{ Text i18n.Message }

// Error implements error.
func (e *EncryptionError) Error() string { return e.Text.String() }

// encryption returns how the data of a subscription is encrypted, nil for not at all. It finds the key first, so that nothing is leased that cannot
// be handed out. Error: *EncryptionError.
func (s *Service) encryption(ctx context.Context, sub store.Subscription) (*store.Encryption, error) {
	if sub.Encrypt == "" {
		return nil, nil
	}
	if s.cfg.Encrypter == nil {
		return nil, &EncryptionError{"verdict.error.encryption"}
	}
	if _, err := s.cfg.Encrypter.Key(ctx, sub.Encrypt); err != nil {
		text := i18n.Message("verdict.error.encryption")
		if wrong, ok := errors.AsType[*jwe.Problem](err); ok {
			text = wrong.Message
		}
		return nil, &EncryptionError{text}
	}
	return &store.Encryption{Recipient: sub.Encrypt, Seed: sub.EncryptSeed}, nil
}
