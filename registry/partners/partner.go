package partners

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Partners are the registered organisations: how they register, and what an administrator decides about them.
type Partners struct {
	cfg         registry.Config
	accounts    Passwords
	stopClients ClientStopper
}

// Passwords makes and sets the passwords of accounts.
type Passwords interface {
	NewHash(ctx context.Context, password, field string, about ...string) (string, error)
	SetPassword(ctx context.Context, tx *store.Tx, id, hash string) (store.Account, error)
}

// ClientStopper makes the tokens of a partner's clients stop; for ever when ended.
type ClientStopper func(ctx context.Context, tx *store.Tx, partnerID string, ended bool) error

// NewPartners makes the service.
func NewPartners(cfg registry.Config, accounts Passwords, stopClients ClientStopper) *Partners {
	return &Partners{cfg, accounts, stopClients}
}

// EnsureOwn makes the row of the organisation that runs this Schakel, or brings
// its name and OIN up to date. The OIN may be empty.
func (p *Partners) EnsureOwn(ctx context.Context, name, oin string) (store.Partner, error) {
	if oin != "" {
		if text := CheckOIN(oin); text != "" {
			return store.Partner{}, fmt.Errorf("own organisation: OIN %q: %s", oin, text)
		}
	}
	var own store.Partner
	err := p.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
		own, err = tx.OwnPartner(ctx)
		if errors.Is(err, store.ErrNotFound) {
			own = store.Partner{Own: true, Name: name, OIN: oin, Status: store.PartnerApproved, DecidedAt: tx.Now}
			return tx.InsertPartner(ctx, &own)
		}
		if err != nil || own.Name == name && own.OIN == oin {
			return err
		}
		own.Name, own.OIN = name, oin
		return tx.UpdatePartner(ctx, &own)
	})
	return own, registry.Wrap("own organisation", err)
}

// Own is the organisation that runs this Schakel.
func (p *Partners) Own(ctx context.Context) (store.Partner, error) {
	own, err := p.cfg.DB.OwnPartner(ctx)
	return own, registry.Found("own organisation", err)
}

// Get finds a partner within a scope.
func (p *Partners) Get(ctx context.Context, scope registry.Scope, id string) (store.Partner, error) {
	if !scope.Sees(id) {
		return store.Partner{}, registry.NotFound("partner")
	}
	partner, err := p.cfg.DB.Partner(ctx, id)
	return partner, registry.Found("partner", err)
}

// List lists partners for an administrator, newest first, with their total
// count. Those whose e-mail address is not confirmed are listed too.
func (p *Partners) List(ctx context.Context, actor registry.Actor, f store.PartnerFilter) ([]store.Partner, int, error) {
	if err := actor.RequireAdministrator(); err != nil {
		return nil, 0, err
	}
	rows, total, err := p.cfg.DB.Partners(ctx, f)
	return rows, total, registry.Wrap("list partners", err)
}

// Counts counts partners by status.
func (p *Partners) Counts(ctx context.Context) (map[string]int, error) {
	counts, err := p.cfg.DB.CountPartners(ctx)
	return counts, registry.Wrap("count partners", err)
}

// Contact holds the contact details of a partner.
type Contact struct {
	Name, Email, Phone string
}

// UpdateContact changes who can be reached at a partner. Fields: contactName, email, phone.
func (p *Partners) UpdateContact(ctx context.Context, actor registry.Actor, id string, in Contact) (store.Partner, error) {
	in.Name, in.Email, in.Phone = registry.CleanName(in.Name), registry.CleanEmail(in.Email), strings.TrimSpace(in.Phone)
	wrong := registry.Problems{}
	in.check(wrong)
	if err := wrong.Err(); err != nil {
		return store.Partner{}, err
	}
	var partner store.Partner
	err := p.change(ctx, actor, id, func(tx *store.Tx, row *store.Partner) error {
		before := row.ContactEmail
		row.ContactName, row.ContactEmail, row.ContactPhone = in.Name, in.Email, in.Phone
		if err := tx.UpdatePartner(ctx, row); err != nil {
			return fmt.Errorf("update contact: %w", err)
		}
		partner = *row
		if before != "" && before != in.Email {
			if err := p.cfg.Mail(ctx, tx, before, mailContactChanged(p.cfg, *row)); err != nil {
				return err
			}
		}
		return registry.Record(ctx, tx, actor, registry.ActionPartnerContact, partnerObject(*row), nil)
	})
	return partner, err
}

func (c Contact) check(wrong registry.Problems) {
	wrong.Add("contactName", registry.CheckName(c.Name, 2, 120))
	wrong.AddIf(!registry.ValidEmail(c.Email), "email", "partners.partner.email-bad")
	wrong.AddIf(len(c.Phone) > 30 || !registry.AllOf(c.Phone, "0123456789+-() ."), "phone", "partners.partner.phone-bad")
}

// change reads a partner the actor may see and keeps others from changing it meanwhile. A partner may do so in every state.
func (p *Partners) change(ctx context.Context, actor registry.Actor, id string, fn func(*store.Tx, *store.Partner) error) error {
	if !actor.Scope().Sees(id) {
		return registry.NotFound("partner")
	}
	return p.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row, err := registry.Locked(ctx, tx, "partner", "partner", id, tx.Partner)
		if err != nil {
			return err
		}
		return fn(tx, &row)
	})
}

func partnerObject(p store.Partner) registry.Object {
	return registry.ObjectOf("partner", p.ID, p.Name, p.ID)
}

// partnerMove gives the changes of state an administrator can make:
//
//	requested ──approve──▶ approved ◀──resume── suspended
//	    │                   │   └────suspend───▶   │
//	  reject               end                    end
//	    ▼                   ▼                      ▼
//	rejected              ended                  ended
func partnerMove(verb string) registry.Transition {
	return map[string]registry.Transition{
		"approve": {Action: registry.ActionPartnerApproved, From: []string{store.PartnerRequested}, To: store.PartnerApproved},
		"reject":  {Action: registry.ActionPartnerRejected, From: []string{store.PartnerRequested}, To: store.PartnerRejected, Reason: true},
		"suspend": {Action: registry.ActionPartnerSuspended, From: []string{store.PartnerApproved}, To: store.PartnerSuspended, Reason: true},
		"resume":  {Action: registry.ActionPartnerResumed, From: []string{store.PartnerSuspended}, To: store.PartnerApproved},
		"end":     {Action: registry.ActionPartnerEnded, From: []string{store.PartnerApproved, store.PartnerSuspended}, To: store.PartnerEnded, Reason: true},
	}[verb].Named(verb)
}

// Approve lets a partner take part. Its e-mail address must be confirmed.
func (p *Partners) Approve(ctx context.Context, actor registry.Actor, id string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return p.holdApproval(ctx, actor, id, func(ctx context.Context) error { return p.move(ctx, actor, id, "approve", "") })
}

// Reject refuses a registration; the reason is told to who registered.
func (p *Partners) Reject(ctx context.Context, actor registry.Actor, id, reason string) error {
	return p.move(ctx, actor, id, "reject", reason)
}

// Suspend stops all exchange with a partner for a time: its tokens are refused
// and nothing is sent to it. Its people can still log in and read why.
func (p *Partners) Suspend(ctx context.Context, actor registry.Actor, id, reason string) error {
	return p.move(ctx, actor, id, "suspend", reason)
}

// Resume takes a suspension back. Tokens must be asked anew.
func (p *Partners) Resume(ctx context.Context, actor registry.Actor, id string) error {
	return p.move(ctx, actor, id, "resume", "")
}

// End ends the exchange for good: subscriptions and endpoints end, and clients are revoked.
func (p *Partners) End(ctx context.Context, actor registry.Actor, id, reason string) error {
	return p.move(ctx, actor, id, "end", reason)
}

func (p *Partners) move(ctx context.Context, actor registry.Actor, id, verb, reason string) error {
	t := partnerMove(verb)
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	return p.change(ctx, actor, id, func(tx *store.Tx, row *store.Partner) error {
		if row.Own {
			return registry.Conflict("partners.partner.is-own")
		}
		if err := t.Check(actor, "registration", row.Status, reason); err != nil {
			return err
		}
		if verb == "approve" && row.EmailConfirmedAt.IsZero() {
			return registry.Conflict("partners.partner.email-not-confirmed", row.Name)
		}
		before := row.Status
		row.Status, row.StatusReason, row.DecidedAt, row.DecidedBy = t.To, reason, tx.Now, actor.Name
		if err := tx.UpdatePartner(ctx, row); err != nil {
			return fmt.Errorf("%s partner: %w", verb, err)
		}
		if err := p.cascade(ctx, tx, *row); err != nil {
			return err
		}
		if err := registry.Record(ctx, tx, actor, t.Action, partnerObject(*row), registry.Details{"reason": reason}); err != nil {
			return err
		}
		if err := p.cfg.Mail(ctx, tx, row.ContactEmail, mailPartnerDecision(p.cfg, *row, verb)); err != nil || t.To != store.PartnerApproved {
			return err
		}
		return p.mailDecided(ctx, tx, actor, *row, registry.Change{
			What: "partners.mail.part-state", From: i18n.Word("ui.state", before), To: i18n.Word("ui.state", row.Status),
		})
	})
}

// Vouch confirms a registration in place of its contact person, who got no mail: the reason records how the
// administrator identified it. The contact person gets a link by mail with which to choose a password; as long as that is
// not sent, administrators can read it and hand it over.
func (p *Partners) Vouch(ctx context.Context, actor registry.Actor, id, reason string) error {
	if err := actor.RequireAdministrator(); err != nil {
		return err
	}
	reason = strings.TrimSpace(reason)
	if err := registry.CheckReason(reason, true); err != nil {
		return err
	}
	return p.change(ctx, actor, id, func(tx *store.Tx, row *store.Partner) error {
		if row.Status != store.PartnerRequested || !row.EmailConfirmedAt.IsZero() {
			return registry.Conflict("partners.partner.not-waiting")
		}
		account, err := tx.AccountByEmail(ctx, row.ContactEmail)
		if err != nil {
			return registry.Found("account", err)
		}
		if account.PartnerID != row.ID {
			return registry.Conflict("partners.partner.account-elsewhere", row.ContactEmail)
		}
		row.EmailConfirmedAt = tx.Now
		if err := tx.UpdatePartner(ctx, row); err != nil {
			return fmt.Errorf("confirm registration: %w", err)
		}
		if err := tx.RevokeLinks(ctx, string(registry.LinkConfirmEmail), row.ID); err != nil {
			return fmt.Errorf("end confirmation link: %w", err)
		}
		token, err := registry.NewLink(ctx, tx, registry.LinkInvitation, account.ID)
		if err != nil {
			return err
		}
		if err := registry.Record(ctx, tx, actor, registry.ActionPartnerVouched, partnerObject(*row), registry.Details{"reason": reason}); err != nil {
			return err
		}
		if err := p.cfg.Mail(ctx, tx, row.ContactEmail, p.cfg.MailPassword(registry.LinkInvitation, token)); err != nil {
			return err
		}
		return p.mailDecided(ctx, tx, actor, *row, registry.Change{What: i18n.M("partners.mail.part-confirmed", row.ContactEmail), From: "ui.no", To: "ui.yes"})
	})
}

// cascade makes what a partner has follow its state.
func (p *Partners) cascade(ctx context.Context, tx *store.Tx, partner store.Partner) error {
	switch partner.Status {
	case store.PartnerSuspended:
		return p.stopClients(ctx, tx, partner.ID, false)
	case store.PartnerEnded:
		if err := p.stopClients(ctx, tx, partner.ID, true); err != nil {
			return err
		}
		if err := endSubscriptions(ctx, tx, store.SubscriptionFilter{PartnerID: partner.ID}, "partners.reason.partner-ended"); err != nil {
			return err
		}
		return endEndpoints(ctx, tx, partner.ID, "partners.reason.partner-ended")
	}
	return nil
}
