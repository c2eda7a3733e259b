package partners

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"schakel/registry"
	"schakel/store"
)

// draftPurpose binds the sealed drafts of registrations to their use.
const draftPurpose = "registration-draft"

// maxDraftBytes bounds what a draft holds.
const maxDraftBytes = 8 << 10

// Drafts of one address in a period. They are cheap, and each browser has one.
const draftsPerPeriod = 60

// Draft is a registration that a visitor has begun, as typed.
type Draft struct {
	Registration
	SavedAt, ExpiresAt time.Time
}

// Draft finds the draft of a browser by what the browser keeps; ok is false when there is none any more.
func (p *Partners) Draft(ctx context.Context, token string) (d Draft, ok bool, err error) {
	if token == "" {
		return d, false, nil
	}
	row, err := p.cfg.DB.RegistrationDraft(ctx, draftHash(token), store.At(p.cfg.Now()))
	if errors.Is(err, store.ErrNotFound) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("find draft of registration: %w", err)
	}
	plain, err := p.cfg.Vault.Open(draftPurpose, row.Sealed)
	if err != nil || json.Unmarshal(plain, &d.Registration) != nil {
		return d, false, nil // it was sealed with another key: it is begun again
	}
	d.SavedAt, d.ExpiresAt = row.UpdatedAt.Time, row.ExpiresAt.Time
	return d, true, nil
}

// SaveDraft keeps what was typed, unchecked, for who has the token; without one that works it makes another. What is too long is an
// *Error without a field. It returns the token that the browser keeps.
func (p *Partners) SaveDraft(ctx context.Context, token string, in Registration) (string, error) {
	plain, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("write draft of registration: %w", err)
	}
	if len(plain) > maxDraftBytes {
		return "", registry.Invalid(registry.Problems{"": "partners.draft.too-long"})
	}
	sealed := p.cfg.Vault.Seal(draftPurpose, plain)
	var throttled error
	err = p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.RegistrationDraft(ctx, draftHash(token), tx.Now)
		if token == "" || errors.Is(err, store.ErrNotFound) {
			if throttled, err = admit(ctx, tx, "draft:"+registry.AddressBucket(in.Addr), draftsPerPeriod); err != nil || throttled != nil {
				return err
			}
			token = rand.Text() // 128 bits
			row = store.RegistrationDraft{TokenHash: draftHash(token)}
		}
		if err != nil {
			return err
		}
		row.Sealed, row.ExpiresAt = sealed, store.At(tx.Now.Add(registry.DraftLifetime))
		return tx.SaveRegistrationDraft(ctx, &row)
	})
	return token, errors.Join(registry.Wrap("save draft of registration", err), throttled)
}

// MailDraft mails a link that opens a draft in any browser, to the address in it: what the draft holds is for its owner alone, and is
// not in the mail. It counts as a registration of the address of the browser.
func (p *Partners) MailDraft(ctx context.Context, token, addr string) error {
	d, ok, err := p.Draft(ctx, token)
	if err != nil || !ok {
		return errors.Join(err, registry.ErrLinkDead)
	}
	to := registry.CleanEmail(d.Contact.Email)
	if !registry.ValidEmail(to) {
		return registry.Invalid(registry.Problems{"email": "partners.partner.email-bad"})
	}
	if err := p.admitRegistration(ctx, addr); err != nil {
		return err
	}
	return registry.Wrap("mail draft of registration", p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := tx.RegistrationDraft(ctx, draftHash(token), tx.Now)
		if err != nil {
			return err
		}
		link, err := registry.NewLink(ctx, tx, registry.LinkResume, row.ID)
		if err != nil {
			return err
		}
		return p.cfg.Mail(ctx, tx, to, mailDraft(p.cfg, link).Unless(d.Language))
	}))
}

// ResumeDraft uses a mailed link up and returns the token of its draft for this browser. The browser that had the draft before cannot open
// it any more: who mails its own link to somebody else does not read what that one types. It answers ErrLinkDead.
func (p *Partners) ResumeDraft(ctx context.Context, link string) (string, error) {
	token := rand.Text()
	err := p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		id, err := registry.UseLink(ctx, tx, registry.LinkResume, link)
		if err != nil {
			return err
		}
		return tx.RotateRegistrationDraft(ctx, id, draftHash(token))
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", registry.ErrLinkDead
	}
	return token, err
}

// ResumeLinkWorks reports whether a mailed link still opens a draft, without using it up.
func (p *Partners) ResumeLinkWorks(ctx context.Context, link string) (bool, error) {
	_, err := registry.LinkSubject(ctx, p.cfg.DB, registry.LinkResume, link, p.cfg.Now())
	if errors.Is(err, registry.ErrLinkDead) {
		return false, nil
	}
	return err == nil, err
}

// ForgetDraft removes the draft of a browser.
func (p *Partners) ForgetDraft(ctx context.Context, token string) error {
	return registry.Wrap("forget draft of registration", p.cfg.DB.Write(ctx, func(tx *store.Tx) error { return tx.DeleteRegistrationDraft(ctx, draftHash(token)) }))
}

// CheckOrganisation returns the problems of the organisation in a registration; CheckContact those of its contact person.
func CheckOrganisation(in Registration) registry.Problems {
	in, wrong := in.clean(), registry.Problems{}
	wrong.Add("name", registry.CheckName(in.Name, 2, 120))
	in.checkNumbers(wrong)
	return wrong
}

// CheckContact returns the problems of the contact person in a registration.
func CheckContact(in Registration) registry.Problems {
	wrong := registry.Problems{}
	in.clean().Contact.check(wrong)
	return wrong
}

// draftHash needs no salt or slow hash: a token is too random to be guessed from it.
func draftHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
