package identity

import (
	"cmp"
	"context"
	"fmt"

	"schakel/registry"
	"schakel/store"
)

// roleLost ends the sessions of somebody whom the provider gives no role any more, and mails the first time of a row.
func (a *Accounts) roleLost(ctx context.Context, tx *store.Tx, id Identity, account store.Account) error {
	first, err := firstLoss(ctx, tx, account)
	if err != nil {
		return err
	}
	if first {
		provider := registry.Actor{Kind: registry.ActorSystem, Name: id.Issuer}
		if err := a.mailAccess(ctx, tx, provider, account, roleText(account), "mail.change.none"); err != nil {
			return err
		}
	}
	account.SessionEpoch++
	if err := cmp.Or(tx.DeleteLoginSessions(ctx, account.ID), tx.UpdateAccount(ctx, &account)); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionRoleLost, accountObject(account), registry.Details{})
}

// firstLoss reports whether somebody logged in since the provider last gave them no role. They try as often as they like.
func firstLoss(ctx context.Context, tx *store.Tx, account store.Account) (bool, error) {
	var newest [2]string
	for i, action := range []string{registry.ActionRoleLost, registry.ActionLoggedIn} {
		rows, err := tx.NewestAudits(ctx, store.AuditFilter{ObjectKind: "account", ObjectID: account.ID, Action: action}, 1)
		if err != nil {
			return false, fmt.Errorf("find logins of account: %w", err)
		}
		if len(rows) > 0 {
			newest[i] = rows[0].ID
		}
	}
	return newest[0] <= newest[1], nil
}

// roleChanged gives an account another role or partner, and ends what was begun with the old one.
func (a *Accounts) roleChanged(ctx context.Context, tx *store.Tx, id Identity, account *store.Account, role, partnerID string) error {
	before := *account
	account.Role, account.PartnerID = role, partnerID
	account.SessionEpoch++
	if err := cmp.Or(tx.DeleteLoginSessions(ctx, account.ID), tx.UpdateAccount(ctx, account)); err != nil {
		return fmt.Errorf("change role: %w", err)
	}
	details := registry.Details{"from": before.PartnerID, "to": partnerID}
	if err := registry.Record(ctx, tx, registry.AccountActor(*account), registry.ActionRoleFromProvider, accountObject(*account), details); err != nil {
		return err
	}
	return a.mailProviderRole(ctx, tx, id, before, *account)
}
