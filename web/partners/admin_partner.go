package partners

import (
	"context"

	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/partners"
	"schakel/templates/ui"
	"schakel/web/site"
)

// adminPartner shows all that is known of a partner.
func (p *pages) adminPartner(c echo.Context) error { return p.showPartner(c, site.Refusal{}) }

// showPartner shows a partner, with why a decision about it was refused.
func (p *pages) showPartner(c echo.Context, r site.Refusal) error {
	ctx := c.Request().Context()
	partner, err := p.Registry.Partners.Get(ctx, site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	v := p.partnerView(ctx, partner, r)
	v.Now = p.Cfg.Now()
	if err := p.fillPartner(ctx, site.Actor(c), partner, &v); err != nil {
		return err
	}
	page := p.Frame(c, partner.Name, ui.Crumb{Label: "Partners", Href: "/admin/partners"})
	page.Badge, page.Invalid = ui.State(partner.Status), r.Status != 0
	page.Actions = ui.LinkButton(ui.Secondary, "Read-only keys", site.PartnerHref(partner.ID)+"/keys")
	return p.Render(c, r.Code(), view.AdminPartner(page, v))
}

// partnerView builds the view of a partner.
func (p *pages) partnerView(ctx context.Context, partner store.Partner, r site.Refusal) view.AdminPartnerView {
	v := view.AdminPartnerView{
		OIN: partner.OIN, KVK: partner.KVK, HerID: partner.HerID, OrgNumber: partner.OrgNumber, ContactName: partner.ContactName, Email: partner.ContactEmail,
		Phone: partner.ContactPhone, EndpointKinds: partner.EndpointKinds, Terms: partner.TermsVersion, TermsAt: partner.TermsAcceptedAt.Time,
		Confirmed: partner.EmailConfirmedAt.Time, Created: partner.CreatedAt.Time, Decided: partner.DecidedAt.Time,
		DecidedBy: partner.DecidedBy, Reason: partner.StatusReason, Message: r.Message,
	}
	if partner.Own {
		return v
	}
	if correctable(partner) {
		v.CorrectHref = site.PartnerHref(partner.ID) + "/registration"
	}
	steps := p.partnerSteps()
	if partner.Status == store.PartnerRequested && partner.EmailConfirmedAt.IsZero() {
		steps = append(steps, p.confirmStep())
	}
	v.Acts = site.Acts(ctx, steps, "/admin/partners/"+partner.ID, partner.Status, r)
	for i := range v.Acts.Danger {
		if v.Acts.Danger[i].ID == "confirm" {
			v.Acts.Danger[i].ReasonLabel = "How you know that this is the organisation"
		}
	}
	if partner.Status == store.PartnerRequested {
		v.Grants = partnerGrants()
		if partner.EmailConfirmedAt.IsZero() {
			v.Acts.Lead = "It can be approved once its contact person has opened the link in the confirmation mail. When that mail was not sent, its text and link stand under Mails."
			v.Acts.Plain = nil
		}
	}
	return v
}

// partnerGrants lists the rights that an approval of a registration gives, and those it does not.
func partnerGrants() []string {
	return []string{
		"Its people may add endpoints, make clients and ask for subscriptions.",
		"Its clients may get access tokens, to read the register and to manage its own subscriptions.",
		"It sees the contracts and event types that are shown to partners.",
		"It gets no events and publishes none yet: each subscription and each event type to publish waits for a decision of its own.",
	}
}

// fillPartner adds what the partner has, and what happened to it.
func (p *pages) fillPartner(ctx context.Context, who registry.Actor, partner store.Partner, v *view.AdminPartnerView) error {
	subs, _, err := p.Registry.Subscriptions.List(ctx, who.Scope(), store.SubscriptionFilter{PartnerID: partner.ID})
	if err != nil {
		return err
	}
	clients, err := p.Registry.Clients.List(ctx, who.Scope(), partner.ID)
	if err != nil {
		return err
	}
	names := p.AdminNames()
	if v.Subscriptions, err = subscriptionRows(ctx, names, subs); err != nil {
		return err
	}
	if v.Clients, err = clientRows(ctx, names, clients); err != nil {
		return err
	}
	if v.Endpoints, err = p.EndpointRows(ctx, who.Scope(), partner.ID); err != nil {
		return err
	}
	if !partner.Own {
		if v.Accounts, err = p.AccountRows(ctx, who, partner.ID); err != nil {
			return err
		}
	}
	v.History, err = p.History(ctx, store.AuditFilter{PartnerID: partner.ID}, "/admin/audit?partner="+partner.ID)
	return err
}

// partnerSteps are the decisions about a partner.
func (p *pages) partnerSteps() []site.Step {
	partners := p.Registry.Partners
	return []site.Step{
		{
			Verb: "approve", Do: site.ByIDAlone(partners.Approve), From: []string{store.PartnerRequested}, Kind: ui.Primary,
			Label: "Approve the registration", Done: "The registration is approved.", Mails: true,
		},
		{
			Verb: "reject", Do: site.ByID(partners.Reject), From: []string{store.PartnerRequested}, Reason: true,
			Label: "Reject the registration", Explain: "The reason is for the contact person. The organisation can register again.",
			Done: "The registration is rejected.", Mails: true,
		},
		{
			Verb: "resume", Do: site.ByIDAlone(partners.Resume), From: []string{store.PartnerSuspended}, Kind: ui.Primary,
			Label: "Resume the exchange", Done: "The exchange is resumed. What waited is sent now.",
		},
		{
			Verb: "suspend", Do: site.ByID(partners.Suspend), From: []string{store.PartnerApproved}, Reason: true,
			Label:   "Suspend this partner",
			Explain: "Nothing is sent to it, its subscriptions get no new events and its tokens stop at once, until you resume. What waits for it is held.",
			Done:    "The partner is suspended.", Mails: true,
		},
		{
			Verb: "end", Do: site.ByID(partners.End), From: []string{store.PartnerApproved, store.PartnerSuspended}, Reason: true,
			Label:   "End the exchange for good",
			Explain: "Its subscriptions and endpoints end, its clients are revoked, and what still waits for it becomes a dead letter. This cannot be taken back; it would have to register again.",
			Done:    "The exchange has ended.", Mails: true,
		},
	}
}

// confirmStep confirms a registration whose mail did not arrive.
func (p *pages) confirmStep() site.Step {
	return site.Step{
		Verb: "confirm", Do: site.ByID(p.Registry.Partners.Vouch), From: []string{store.PartnerRequested}, Reason: true,
		Label:   "Confirm in place of the contact person",
		Explain: "For a contact person who gets no mail. Do this when you know in another way that the organisation registered itself; the audit trail tells that you did. The contact person gets a mail with a link to choose a password. When it cannot be sent, read it under Mails and hand the link over.",
		Done:    "The registration is confirmed. The link with which the contact person chooses a password is in a mail.",
	}
}
