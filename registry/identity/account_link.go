package identity

import (
	"cmp"
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// PasswordLink makes a link with which the owner of an account chooses a new
// password: an invitation while the account has none yet, a reset after that. It answers store.ErrNotFound for an account that
// its owner reaches through an OpenID provider, or that may not have a password: a link would go past what the provider asks.
// Somebody who is not logged in asked for it, which is audited.
func (a *Accounts) PasswordLink(ctx context.Context, email string) (purpose registry.LinkPurpose, token string, err error) {
	return a.passwordLink(ctx, email, func(tx *store.Tx, account store.Account) error {
		return registry.Record(ctx, tx, registry.Actor{Kind: registry.ActorVisitor}, registry.ActionPasswordAsked, accountObject(account), registry.Details{})
	})
}

// InvitationLink is PasswordLink for somebody else, by who invites them or sends the link again; that is audited where it is done.
func (a *Accounts) InvitationLink(ctx context.Context, email string) (purpose registry.LinkPurpose, token string, err error) {
	return a.passwordLink(ctx, email, func(*store.Tx, store.Account) error { return nil })
}

// LinkBy is PasswordLink for an actor who hands the link over, as who has the command line; the owner of an account that has a password is mailed
// that there is one.
func (a *Accounts) LinkBy(ctx context.Context, actor registry.Actor, email string) (purpose registry.LinkPurpose, token string, err error) {
	return a.passwordLink(ctx, email, func(tx *store.Tx, account store.Account) error {
		if err := registry.Record(ctx, tx, actor, registry.ActionLinkMade, accountObject(account), registry.Details{}); err != nil || account.PasswordHash == "" {
			return err
		}
		return a.tell(ctx, tx, account, a.cfg.Letter("mail.link-made.subject", "/account",
			i18n.M("mail.link-made.text", account.Name, a.cfg.Organisation, i18n.Raw(actor.Name)), "mail.link-made.advice"))
	})
}

func (a *Accounts) passwordLink(ctx context.Context, email string, record func(*store.Tx, store.Account) error) (purpose registry.LinkPurpose, token string, err error) {
	err = a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.AccountByEmail(ctx, registry.CleanEmail(email))
		if err != nil {
			return fmt.Errorf("find account: %w", err)
		}
		if provided, err := tx.HasIdentity(ctx, account.ID); err != nil || provided || !a.Local(account) {
			return cmp.Or(err, store.ErrNotFound)
		}
		if ended, err := partnerEnded(ctx, &tx.Queries, account); err != nil || ended {
			return cmp.Or(err, store.ErrNotFound)
		}
		purpose = registry.LinkReset
		if account.Status == store.AccountInvited {
			purpose = registry.LinkInvitation
		}
		if token, err = registry.NewLink(ctx, tx, purpose, account.ID); err != nil {
			return err
		}
		return record(tx, account)
	})
	return purpose, token, err
}

// LinkAccount returns the account of an invitation or reset link, or ErrLinkDead.
func (a *Accounts) LinkAccount(ctx context.Context, purpose registry.LinkPurpose, token string) (store.Account, error) {
	id, err := registry.LinkSubject(ctx, a.db, purpose, token, a.now())
	if err != nil {
		return store.Account{}, err
	}
	return a.db.Account(ctx, id)
}
