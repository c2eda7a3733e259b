package identity

import (
	"context"
	"errors"
	"time"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Local reports whether the settings of this program let an account log in with a password.
func (a *Accounts) Local(account store.Account) bool {
	switch a.cfg.LocalAccounts {
	case registry.LocalOff:
		return a.isEmergency(account)
	case registry.LocalAdministrators:
		return registry.OfOrganisation(account) || a.isEmergency(account)
	}
	return true
}

// partnerEnded reports whether an account is of a partner that ended: nobody of it logs in any more, with a password as little as at a provider.
func partnerEnded(ctx context.Context, q *store.Queries, account store.Account) (bool, error) {
	if account.PartnerID == "" {
		return false, nil
	}
	partner, err := q.Partner(ctx, account.PartnerID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return partner.Status == store.PartnerEnded, registry.Wrap("find partner of an account", err)
}

// LocalLogins reports whether anyone but the break-glass account may log in with a password.
func (a *Accounts) LocalLogins() bool { return a.cfg.LocalAccounts != registry.LocalOff }

// isEmergency reports whether a login of this account is one that others must hear of.
func (a *Accounts) isEmergency(account store.Account) bool {
	return a.cfg.BreakGlass != "" && account.Email == registry.CleanEmail(a.cfg.BreakGlass)
}

// OnBreakGlass has tell called after the break-glass account was logged in to with its password. Call it before the accounts are used.
func (a *Accounts) OnBreakGlass(tell func(ctx context.Context, account store.Account)) {
	a.onBreakGlass = tell
}

// toldOfBreakGlass reports whether the administrators heard of this use of the break-glass account a moment ago, when its password was checked.
func (a *Accounts) toldOfBreakGlass(ctx context.Context, tx *store.Tx, account store.Account) (bool, error) {
	if !a.isEmergency(account) {
		return true, nil
	}
	const moment = 15 * time.Minute // that a second factor is waited for
	rows, err := tx.NewestAudits(ctx, store.AuditFilter{
		ObjectKind: "account", ObjectID: account.ID, Action: registry.ActionBreakGlass, From: store.At(tx.Now.Add(-moment)),
	}, 1)
	return len(rows) > 0, registry.Wrap("find uses of the break-glass account", err)
}

// breakGlass records that the break-glass account is used, and mails the administrators. It does nothing for other accounts.
func (a *Accounts) breakGlass(ctx context.Context, tx *store.Tx, account store.Account) error {
	if !a.isEmergency(account) {
		return nil
	}
	if err := registry.Record(ctx, tx, registry.AccountActor(account), registry.ActionBreakGlass, accountObject(account), registry.Details{}); err != nil {
		return err
	}
	if a.cfg.Vault == nil {
		return nil
	}
	return a.cfg.MailAdministrators(ctx, tx, a.cfg.Letter(i18n.M("mail.break-glass.subject", a.cfg.Organisation), "/admin/audit",
		i18n.M("mail.break-glass.text", account.Name, account.Email, tx.Now), "mail.break-glass.advice"))
}
