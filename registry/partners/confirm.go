package partners

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// ConfirmPartner returns the partner whose registration a link confirms, or
// ErrLinkDead.
func (p *Partners) ConfirmPartner(ctx context.Context, token string) (store.Partner, error) {
	id, err := registry.LinkSubject(ctx, p.cfg.DB, registry.LinkConfirmEmail, token, p.cfg.Now())
	if err != nil {
		return store.Partner{}, err
	}
	partner, err := p.cfg.DB.Partner(ctx, id)
	return partner, registry.Found("registration", err)
}

// Confirm uses a confirmation link up: the e-mail address is confirmed, the
// account gets its password and can log in, and the administrators are told. It
// answers ErrLinkDead, or an *Error with the field password.
func (p *Partners) Confirm(ctx context.Context, token, password string) (store.Account, error) {
	partner, err := p.ConfirmPartner(ctx, token)
	if err != nil {
		return store.Account{}, err
	}
	hash, err := p.accounts.NewHash(ctx, password, partner.ContactEmail, "password")
	if err != nil {
		return store.Account{}, err
	}
	var account store.Account
	err = p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		id, err := registry.UseLink(ctx, tx, registry.LinkConfirmEmail, token)
		if err != nil {
			return err
		}
		account, err = p.confirm(ctx, tx, id, hash)
		return err
	})
	return account, err
}

func (p *Partners) confirm(ctx context.Context, tx *store.Tx, id, hash string) (store.Account, error) {
	partner, err := registry.Locked(ctx, tx, "registration", "partner", id, tx.Partner)
	if err != nil {
		return store.Account{}, err
	}
	if partner.Status != store.PartnerRequested {
		return store.Account{}, registry.ErrLinkDead
	}
	account, err := tx.AccountByEmail(ctx, partner.ContactEmail)
	if err != nil {
		return account, registry.Found("account", err)
	}
	// The link was mailed for the account of this registration, and for no other.
	if account.PartnerID != partner.ID {
		return account, registry.ErrLinkDead
	}
	if account, err = p.accounts.SetPassword(ctx, tx, account.ID, hash); err != nil {
		return account, err
	}
	partner.EmailConfirmedAt = tx.Now
	if err := tx.UpdatePartner(ctx, &partner); err != nil {
		return account, fmt.Errorf("confirm registration: %w", err)
	}
	if err := registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionPartnerConfirmed, partnerObject(partner), nil); err != nil {
		return account, err
	}
	return account, p.cfg.MailAdministrators(ctx, tx, mailNewRegistration(p.cfg, partner))
}
