package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// InviteColleague makes an account that cannot log in yet, of the actor's own partner, or of any and of the organisation by an
// administrator. [Mails.PasswordLink] mails its owner the link to choose a password. What is wrong is an *Error with fields name, email
// and role.
func (a *Accounts) InviteColleague(ctx context.Context, actor registry.Actor, in NewAccount) (store.Account, error) {
	account, _, err := a.Invite(ctx, actor, in)
	return account, err
}

// Invite is InviteColleague for who hands over the link to choose a password, of which it gives the token.
func (a *Accounts) Invite(ctx context.Context, actor registry.Actor, in NewAccount) (account store.Account, token string, err error) {
	if err := mayChangePeople(actor, in.PartnerID); err != nil {
		return store.Account{}, "", err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) (err error) {
		account, token, err = InviteAccount(ctx, tx, in)
		if err != nil {
			return err
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionAccountInvited, accountObject(account), registry.Details{"role": account.Role}); err != nil {
			return err
		}
		return a.mailAccess(ctx, tx, actor, account, "mail.change.none", accessText(account))
	})
	return account, token, err
}

// SetRole gives somebody another role, and ends the sessions. The last administrator, and the last manager of a partner, keep theirs. A
// role that is none of theirs is an *Error with the field role.
func (a *Accounts) SetRole(ctx context.Context, actor registry.Actor, id, role string) error {
	return a.decide(ctx, actor, id, func(tx *store.Tx, account *store.Account) (change, error) {
		if !slices.Contains(registry.RolesOf(account.PartnerID), role) {
			return change{}, registry.Invalid(map[string]i18n.Message{"role": "identity.role-wrong"})
		}
		if account.Role == role {
			return change{}, registry.Conflict("identity.role-same", i18n.Word("registry.role", role))
		}
		was := account.Role
		account.Role = role
		account.SessionEpoch++
		return change{
			action: registry.ActionRoleChanged, details: registry.Details{"was": was, "role": role}, keepsOne: true,
			from: i18n.Word("registry.role", was), to: i18n.Word("registry.role", role),
		}, nil
	})
}

// Remove deletes an account, or withdraws an invitation. Nobody removes themselves, and the last administrator, or manager of a partner, stays.
func (a *Accounts) Remove(ctx context.Context, actor registry.Actor, id string) error {
	return a.decide(ctx, actor, id, func(tx *store.Tx, account *store.Account) (change, error) {
		if account.ID == actor.ID {
			return change{}, registry.Conflict("identity.remove-own")
		}
		did := change{action: registry.ActionAccountRemoved, keepsOne: true, removes: true, to: "mail.change.none"}
		if account.Status == store.AccountInvited {
			did.action = registry.ActionInvitationWithdrawn
		}
		return did, nil
	})
}

// Block keeps someone out and ends their sessions and open links. Nobody blocks themselves, so that somebody stays who can unblock.
func (a *Accounts) Block(ctx context.Context, actor registry.Actor, id string) error {
	return a.decide(ctx, actor, id, func(tx *store.Tx, account *store.Account) (change, error) {
		if account.ID == actor.ID {
			return change{}, registry.Conflict("identity.block-own")
		}
		if account.Status == store.AccountBlocked {
			return change{}, registry.Conflict("identity.blocked-already")
		}
		account.Status = store.AccountBlocked
		account.SessionEpoch++
		return change{action: registry.ActionAccountBlocked}, registry.EndPasswordLinks(ctx, tx, id)
	})
}

// Unblock lets someone in again, or back to the invitation when they never logged in.
func (a *Accounts) Unblock(ctx context.Context, actor registry.Actor, id string) error {
	return a.decide(ctx, actor, id, func(_ *store.Tx, account *store.Account) (change, error) {
		if account.Status != store.AccountBlocked {
			return change{}, registry.Conflict("identity.not-blocked")
		}
		account.Status = store.AccountActive
		if account.PasswordHash == "" && account.LastLoginAt.IsZero() {
			account.Status = store.AccountInvited
		}
		return change{action: registry.ActionAccountUnblocked}, nil
	})
}

// EndSessionsOf ends all sessions of somebody, who logs in again to go on. Nobody ends their own so: that is done on the page of the account.
func (a *Accounts) EndSessionsOf(ctx context.Context, actor registry.Actor, id string) error {
	return a.decide(ctx, actor, id, func(tx *store.Tx, account *store.Account) (change, error) {
		if account.ID == actor.ID {
			return change{}, registry.Conflict("identity.end-own")
		}
		account.SessionEpoch++
		return change{action: registry.ActionSessionsEnded}, tx.DeleteLoginSessions(ctx, id)
	})
}

// EndAllSessions ends the sessions of everybody, also of the administrator who does it, and counts the accounts that had some.
func (a *Accounts) EndAllSessions(ctx context.Context, actor registry.Actor) (n int64, err error) {
	if err := actor.RequireAdministrator(); err != nil {
		return 0, err
	}
	if err := actor.Require(registry.ChangePeople); err != nil {
		return 0, err
	}
	err = a.db.Write(ctx, func(tx *store.Tx) (err error) {
		if n, err = tx.EndAllSessions(ctx); err != nil {
			return fmt.Errorf("end all sessions: %w", err)
		}
		return registry.Record(ctx, tx, actor, registry.ActionAllSessionsEnded, registry.ObjectOf("account", "", "", ""), registry.Details{"accounts": n})
	})
	return n, err
}

// NoteLink records that somebody has a link mailed to the owner of an account: an invitation again, or another password.
func (a *Accounts) NoteLink(ctx context.Context, actor registry.Actor, id string) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, id)
		if err != nil {
			return registry.Found("account", err)
		}
		if err := mayChangePeople(actor, account.PartnerID); err != nil {
			return err
		}
		return registry.Record(ctx, tx, actor, registry.ActionLinkMailed, accountObject(account), registry.Details{})
	})
}

// InvitationEnds is when the link of somebody who was invited stops working; zero when it did.
func (a *Accounts) InvitationEnds(ctx context.Context, account store.Account) (store.Time, error) {
	ends, err := a.db.LinkExpiry(ctx, string(registry.LinkInvitation), account.ID, store.At(a.now()))
	if errors.Is(err, store.ErrNotFound) {
		return store.Time{}, nil
	}
	return ends, registry.Wrap("find invitation", err)
}

// change describes a decision about an account.
type change struct {
	action   string
	details  registry.Details
	keepsOne bool         // somebody must stay who can change people
	removes  bool         // the account is deleted
	told     bool         // its owner is mailed by who decides
	from, to i18n.Message // for the mail; empty as the access of the account was and is
}

// decide changes an account of the actor's own partner, or any by an administrator.
func (a *Accounts) decide(ctx context.Context, actor registry.Actor, id string, do func(*store.Tx, *store.Account) (change, error)) error {
	return a.db.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.Account(ctx, id)
		if err != nil {
			return registry.Found("account", err)
		}
		if err := mayChangePeople(actor, account.PartnerID); err != nil {
			return err
		}
		if err := lockPeople(ctx, tx, account.PartnerID); err != nil {
			return err
		}
		if account, err = registry.Locked(ctx, tx, "account", "account", id, tx.Account); err != nil {
			return err
		}
		before := account
		did, err := do(tx, &account)
		if err != nil {
			return err
		}
		if did.keepsOne && holds(before, registry.ChangePeople) && (did.removes || !holds(account, registry.ChangePeople)) {
			if err := requireAnother(ctx, tx, account); err != nil {
				return err
			}
		}
		if did.from == "" {
			did.from = accessText(before)
		}
		if did.to == "" {
			did.to = accessText(account)
		}
		if !did.told {
			if err := a.mailPerson(ctx, tx, actor, before, account, did.removes, did.from, did.to); err != nil {
				return err
			}
		}
		if did.removes {
			err = tx.DeleteAccount(ctx, id)
		} else {
			err = tx.UpdateAccount(ctx, &account)
		}
		if err != nil {
			return fmt.Errorf("change account: %w", err)
		}
		if err := registry.Record(ctx, tx, actor, did.action, accountObject(account), did.details); err != nil {
			return err
		}
		return a.mailAccess(ctx, tx, actor, account, did.from, did.to)
	})
}

// mayChangePeople refuses who may not change the people of a partner, or those of the organisation when partnerID is empty.
func mayChangePeople(actor registry.Actor, partnerID string) error {
	if !actor.Scope().Sees(partnerID) {
		return registry.NotFound("account")
	}
	return actor.Require(registry.ChangePeople)
}

// lockPeople keeps others from changing the people of a partner, or of the organisation, until the transaction ends: two who take each other's
// role at the same moment would leave nobody.
func lockPeople(ctx context.Context, tx *store.Tx, partnerID string) error {
	owner, err := registry.PartnerOrOwn(ctx, &tx.Queries, partnerID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // of the organisation, before it is there
	}
	if err == nil {
		err = tx.Lock(ctx, "partner", owner.ID)
	}
	return registry.Wrap("lock people", err)
}

// requireAnother refuses to take the last of those who can change people.
func requireAnother(ctx context.Context, tx *store.Tx, account store.Account) error {
	all, err := tx.Accounts(ctx, account.PartnerID)
	if err != nil {
		return fmt.Errorf("list people: %w", err)
	}
	if slices.ContainsFunc(all, func(other store.Account) bool { return other.ID != account.ID && holds(other, registry.ChangePeople) }) {
		return nil
	}
	return registry.Conflict("identity.last-one", registry.AnyRole(registry.ChangePeople, account.PartnerID == ""))
}

func accountObject(a store.Account) registry.Object {
	return registry.ObjectOf("account", a.ID, a.Name, a.PartnerID)
}
