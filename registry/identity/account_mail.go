package identity

import (
	"context"
	"errors"
	"fmt"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// mailAccess tells the people of a partner and the administrators when somebody else may log in, or may no longer.
func (a *Accounts) mailAccess(ctx context.Context, tx *store.Tx, actor registry.Actor, account store.Account, from, to i18n.Message) error {
	if a.cfg.Vault == nil {
		return nil
	}
	pages := registry.ChangePages{Administrator: "/admin/accounts", Partner: peoplePage}
	if account.PartnerID != "" {
		pages.Administrator = "/admin/partners/" + account.PartnerID
	}
	return a.cfg.MailChange(ctx, tx, actor, account.PartnerID, i18n.M("identity.mail.access-subject", account.Name), pages,
		registry.Differences(registry.Change{What: accessOf(account), From: from, To: to}))
}

// peoplePage shows the managers of a partner its people.
const peoplePage = "/partner/people"

// mailPerson tells somebody whose access changed, unless after the change it is one of those whom mailAccess tells. It is called before the
// account goes, whose language the mail has.
func (a *Accounts) mailPerson(ctx context.Context, tx *store.Tx, actor registry.Actor, before, after store.Account, removed bool, from, to i18n.Message) error {
	toldAnyway := !removed && after.Status == store.AccountActive && registry.Allows(after.Role, registry.ChangePeople)
	if toldAnyway || before.Status == store.AccountInvited || from == to || actor.ID == before.ID && actor.ID != "" {
		return nil
	}
	path := "/account"
	if removed || after.Status != store.AccountActive {
		path = ""
	}
	return a.tell(ctx, tx, before, a.accessLetter(actor, i18n.M("identity.mail.own-subject", a.cfg.Organisation), path, before, from, to).Lines("identity.mail.own-advice"))
}

// mailProviderRole tells of a role that a provider gives: the administrators, the managers of the partner, those of the partner before, and
// whoever loses by it. Before is the zero account for a new one, and after is stored where it is not new.
func (a *Accounts) mailProviderRole(ctx context.Context, tx *store.Tx, id Identity, before, after store.Account) error {
	provider := registry.Actor{Kind: registry.ActorSystem, Name: id.Issuer}
	from, to := i18n.Message("mail.change.none"), roleText(after)
	if before.ID != "" {
		from = roleText(before)
	}
	if from == to && before.PartnerID != after.PartnerID {
		names := map[string]i18n.Message{"": i18n.Raw(a.cfg.Organisation)}
		for _, id := range []string{before.PartnerID, after.PartnerID} {
			partner, err := tx.Partner(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("find partner of account: %w", err)
			}
			if err == nil {
				names[id] = i18n.Raw(partner.Name)
			}
		}
		from, to = names[before.PartnerID], names[after.PartnerID]
	}
	if err := a.mailAccess(ctx, tx, provider, after, from, to); err != nil || before.ID == "" || a.cfg.Vault == nil {
		return err
	}
	if before.PartnerID != "" && before.PartnerID != after.PartnerID {
		letter := a.accessLetter(provider, i18n.M("identity.mail.access-subject", after.Name), peoplePage, after, from, to).Lines("mail.change.advice")
		if err := a.cfg.MailManagers(ctx, tx, before.PartnerID, letter); err != nil {
			return err
		}
	}
	return a.mailPerson(ctx, tx, provider, before, after, false, from, to)
}

// mailTakenOver tells its owner, and those who are told of every change of access, that an account logs in at a provider from now on.
func (a *Accounts) mailTakenOver(ctx context.Context, tx *store.Tx, id Identity, before, after store.Account) error {
	provider, from, to := registry.Actor{Kind: registry.ActorSystem, Name: id.Issuer}, accessText(before), i18n.M("identity.mail.access-provider", id.Issuer)
	if err := a.mailAccess(ctx, tx, provider, after, from, to); err != nil {
		return err
	}
	return a.mailPerson(ctx, tx, provider, before, after, false, from, to)
}

func (a *Accounts) accessLetter(actor registry.Actor, subject i18n.Message, path string, account store.Account, from, to i18n.Message) registry.Message {
	return a.cfg.Letter(subject, path, i18n.M("mail.change.by", actor.Label())).Lines(i18n.M("mail.change.line", accessOf(account), from, to))
}

func accessOf(account store.Account) i18n.Message {
	return i18n.M("identity.mail.part-access", account.Email)
}

func roleText(account store.Account) i18n.Message { return i18n.Word("registry.role", account.Role) }

// accessText describes the access of an account.
func accessText(account store.Account) i18n.Message {
	if account.Status == store.AccountActive && account.Factors > 0 {
		return "identity.mail.access-factor"
	}
	return i18n.Word("identity.mail.access", account.Status)
}
