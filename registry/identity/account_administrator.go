package identity

import (
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// InviteAdministrator makes an account of an administrator that cannot log in yet. [Mails.PasswordLink] mails its owner the link
// to choose a password. What is wrong is an *Error with fields name and email.
func (a *Accounts) InviteAdministrator(ctx context.Context, actor registry.Actor, name, email string) (store.Account, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return store.Account{}, err
	}
	var account store.Account
	err := a.db.Write(ctx, func(tx *store.Tx) (err error) {
		account, _, err = InviteAccount(ctx, tx, NewAccount{Email: email, Name: name, Role: store.RoleAdministrator})
		if err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionAccountInvited, accountObject(account), nil)
	})
	return account, err
}

// Block keeps someone out and ends their sessions. Nobody blocks themselves, so that somebody stays who can unblock.
func (a *Accounts) Block(ctx context.Context, actor registry.Actor, id string) error {
	return a.decide(ctx, actor, id, registry.ActionAccountBlocked, func(account *store.Account) error {
		if account.ID == actor.ID {
			return registry.Conflict("identity.block-own")
		}
		if account.Status == store.AccountBlocked {
			return registry.Conflict("identity.blocked-already")
		}
		account.Status = store.AccountBlocked
		account.SessionEpoch++
		return nil
	})
}

// Unblock lets someone in again, or back to the invitation when they never logged in.
func (a *Accounts) Unblock(ctx context.Context, actor registry.Actor, id string) error {
	return a.decide(ctx, actor, id, registry.ActionAccountUnblocked, func(account *store.Account) error {
		if account.Status != store.AccountBlocked {
			return registry.Conflict("identity.not-blocked")
		}
		account.Status = store.AccountActive
		if account.PasswordHash == "" && account.LastLoginAt.IsZero() {
			account.Status = store.AccountInvited
		}
		return nil
	})
}

func (a *Accounts) decide(ctx context.Context, actor registry.Actor, id, action string, change func(*store.Account) error) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := registry.Locked(ctx, tx, "account", "account", id, tx.Account)
		if err != nil {
			return err
		}
		if err := change(&account); err != nil {
			return err
		}
		if err := tx.UpdateAccount(ctx, &account); err != nil {
			return fmt.Errorf("change account: %w", err)
		}
		return registry.Record(ctx, tx, actor, action, accountObject(account), nil)
	})
}

func accountObject(a store.Account) registry.Object {
	return registry.ObjectOf("account", a.ID, a.Name, a.PartnerID)
}
