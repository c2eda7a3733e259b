package partners

import (
	"context"
	"fmt"
	"strings"

	"schakel/registry"
	"schakel/store"
)

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
	return p.move(ctx, actor, id, "approve", "")
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

// End ends the exchange for good: subscriptions and endpoints end, and clients
// are revoked.
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
			return registry.Conflict("This is the own organisation.")
		}
		if err := t.Check(actor, "registration", row.Status, reason); err != nil {
			return err
		}
		if verb == "approve" && row.EmailConfirmedAt.IsZero() {
			return registry.Conflict("The e-mail address of %s is not confirmed yet.", row.Name)
		}
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
		return p.cfg.Mail(ctx, tx, row.ContactEmail, mailPartnerDecision(p.cfg, *row, verb))
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
			return registry.Conflict("This registration does not wait for its contact person.")
		}
		account, err := tx.AccountByEmail(ctx, row.ContactEmail)
		if err != nil {
			return registry.Found("account", err)
		}
		if account.PartnerID != row.ID {
			return registry.Conflict("The account with the address %s belongs to another organisation.", row.ContactEmail)
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
		return p.cfg.Mail(ctx, tx, row.ContactEmail, p.cfg.MailPassword(registry.LinkInvitation, token))
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
		if err := endSubscriptions(ctx, tx, store.SubscriptionFilter{PartnerID: partner.ID}, "The partner ended."); err != nil {
			return err
		}
		return endEndpoints(ctx, tx, partner.ID, "The partner ended.")
	}
	return nil
}
