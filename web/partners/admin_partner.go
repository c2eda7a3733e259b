package partners

import (
	"context"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
	"schakel/templates/i18n"
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
	v, err := p.partnerView(ctx, partner, r)
	if err != nil {
		return err
	}
	v.Now = p.Cfg.Now()
	if err := p.fillErasure(ctx, partner, &v); err != nil {
		return err
	}
	if v.Flow, err = p.registrationFlow(ctx, partner); err != nil {
		return err
	}
	if err := p.fillDoubts(ctx, site.Actor(c), partner, &v); err != nil {
		return err
	}
	if err := p.fillPartner(ctx, site.Actor(c), partner, &v); err != nil {
		return err
	}
	page := p.Frame(c, partner.Name, ui.Crumb{Label: i18n.T(ctx, "partners.label.partners"), Href: "/admin/partners"})
	page.Badge, page.Invalid = ui.State(partner.Status), r.Status != 0
	page.Actions = ui.LinkButton(ui.Secondary, i18n.T(ctx, "partners.key.caption"), site.PartnerHref(partner.ID)+"/keys")
	if err := p.NoteWaiting(ctx, &page, "partner", partner.ID); err != nil {
		return err
	}
	return p.Render(c, r.Code(), view.AdminPartner(page, v))
}

// partnerView builds the view of a partner.
func (p *pages) partnerView(ctx context.Context, partner store.Partner, r site.Refusal) (view.AdminPartnerView, error) {
	v := view.AdminPartnerView{
		OIN: partner.OIN, KVK: partner.KVK, BRIN: partner.BRIN, HerID: partner.HerID, OrgNumber: partner.OrgNumber, ContactName: partner.ContactName, Email: partner.ContactEmail,
		Phone: partner.ContactPhone, Terms: partner.TermsVersion, TermsAt: partner.TermsAcceptedAt.Time,
		Confirmed: partner.EmailConfirmedAt.Time, Created: partner.CreatedAt.Time, Decided: partner.DecidedAt.Time,
		DecidedBy: partner.DecidedBy, Reason: i18n.Message(partner.StatusReason).In(ctx), Message: r.Message,
		Ended: partner.Status == store.PartnerEnded,
	}
	for _, kind := range partner.EndpointKinds {
		v.EndpointKinds = append(v.EndpointKinds, site.KindLabel(ctx, kind))
	}
	v.MailDomain = registry.MailDomain(partner.ContactEmail)
	v.FreeMail = registry.FreeMail(v.MailDomain)
	if partner.Own {
		return v, nil
	}
	if correctable(partner) {
		v.CorrectHref = site.PartnerHref(partner.ID) + "/registration"
	}
	steps := append(p.partnerSteps(), p.eraseStep())
	if partner.Status == store.PartnerRequested && partner.EmailConfirmedAt.IsZero() {
		steps = append(steps, p.confirmStep())
	}
	steps, err := p.TwoPeople(ctx, steps)
	if err != nil {
		return v, err
	}
	v.Acts = site.Acts(ctx, steps, "/admin/partners/"+partner.ID, partner.Status, r)
	for i := range v.Acts.Danger {
		switch d := &v.Acts.Danger[i]; d.ID {
		case "confirm":
			d.ReasonLabel = i18n.T(ctx, "partners.partner.how-you-know")
		case eraseVerb:
			d.ReasonLabel = i18n.T(ctx, "partners.partner.erase-why")
		}
	}
	if partner.Status == store.PartnerRequested {
		v.Grants = partnerGrants(ctx)
		if partner.EmailConfirmedAt.IsZero() {
			v.Acts.Lead = i18n.T(ctx, "partners.partner.approve-lead")
			v.Acts.Plain = nil
			v.Acts.Danger = slices.DeleteFunc(v.Acts.Danger, func(d ui.Danger) bool { return d.ID == "approve" })
		}
	}
	return v, nil
}

// fillDoubts adds what the register of OINs says of a partner and, while its registration waits, whom it could be taken for.
func (p *pages) fillDoubts(ctx context.Context, who registry.Actor, partner store.Partner, v *view.AdminPartnerView) error {
	if partner.Own {
		return nil
	}
	found, ok, err := p.Registry.Partners.Registered(ctx, who, partner)
	if err != nil {
		return err
	}
	if v.Registered = found.Name; ok && found.Doubt != "" {
		v.Doubts = append(v.Doubts, ui.Named{Name: found.Doubt.In(ctx)})
	}
	if partner.Status != store.PartnerRequested {
		return nil
	}
	resembling, err := p.Registry.Partners.Resembling(ctx, who, partner)
	if err != nil {
		return err
	}
	for i, doubt := range partners.Doubts(partner, resembling) {
		d := ui.Named{Name: doubt.In(ctx)}
		if i < len(resembling) && !resembling[i].Known.Own {
			d.Href = site.PartnerHref(resembling[i].Known.ID)
		}
		v.Doubts = append(v.Doubts, d)
	}
	return nil
}

// partnerGrants lists the rights that an approval of a registration gives, and those it does not.
func partnerGrants(ctx context.Context) []string {
	return []string{
		i18n.T(ctx, "partners.partner.grant-people"),
		i18n.T(ctx, "partners.partner.grant-clients"),
		i18n.T(ctx, "partners.partner.grant-contracts"),
		i18n.T(ctx, "partners.partner.grant-not"),
	}
}

// askableTypes bounds the event types that the page of a registration counts.
const askableTypes = 50

// registrationFlow shows what a registered organisation could ask for once it is approved; nil when that was decided. The approval
// itself lets nothing flow.
func (p *pages) registrationFlow(ctx context.Context, partner store.Partner) (*ui.FlowView, error) {
	if partner.Status != store.PartnerRequested {
		return nil, nil
	}
	approved := partner
	approved.Status = store.PartnerApproved
	all, err := p.Registry.EventTypes.Catalogue(ctx, registry.ReaderOf(approved))
	if err != nil {
		return nil, err
	}
	names := site.TypeNames(all[:min(len(all), askableTypes)])
	v, f, err := p.Flow(ctx, outbox.Prospect{Subscriptions: []store.Subscription{{PartnerID: partner.ID, Types: names}}})
	if err != nil {
		return nil, err
	}
	v.Title, v.First, v.Empty = i18n.T(ctx, "partners.flow.could-ask"), i18n.T(ctx, "partners.label.event-type"), i18n.T(ctx, "partners.flow.nothing-visible")
	v.Lead = i18n.T(ctx, "partners.flow.registration-lead", len(all))
	if len(all) > len(names) {
		v.Lead += " " + i18n.T(ctx, "partners.flow.first-types", len(names))
	}
	for _, name := range names {
		row := p.FlowRow(ctx, f, f.Of[0], name)
		row.What = ui.Named{Name: name, Href: site.EventTypeHref(name)}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
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
	if v.Subscriptions, err = subscriptionRows(ctx, names, p.Readiness(true), subs); err != nil {
		return err
	}
	if v.Clients, err = clientRows(ctx, names, clients); err != nil {
		return err
	}
	if v.Endpoints, err = p.EndpointRows(ctx, who.Scope(), partner.ID); err != nil {
		return err
	}
	if err := p.FillSparks(ctx, v.Endpoints); err != nil {
		return err
	}
	if len(v.Endpoints) > 0 {
		v.Queues = partnerQueues(ctx, partner.ID)
		ids := make([]string, len(v.Endpoints))
		for i := range v.Endpoints {
			ids[i] = v.Endpoints[i].ID
		}
		more := ui.Named{Name: i18n.T(ctx, "partners.partner.charts"), Href: "/admin/traffic?partner=" + url.QueryEscape(partner.ID)}
		moved, err := p.TrafficPanel(ctx, ids, more)
		if err != nil {
			return err
		}
		v.Traffic = &moved
	}
	if !partner.Own {
		v.PeopleHref = "/admin/accounts?partner=" + url.QueryEscape(partner.ID)
		if v.Accounts, err = p.AccountRows(ctx, who, partner.ID, "/admin/accounts"); err != nil {
			return err
		}
	}
	v.History, err = p.History(ctx, store.AuditFilter{PartnerID: partner.ID}, "/admin/audit?partner="+partner.ID)
	return err
}

// partnerSteps are the decisions about a partner.
func (p *pages) partnerSteps() []site.Step {
	service := p.Registry.Partners
	return []site.Step{
		{
			Verb: "approve", Proof: true, Needs: registry.DecideApprovals, Do: site.ByIDAlone(service.Approve), From: []string{store.PartnerRequested}, Kind: ui.Primary, Two: registry.TwoApprovals,
			Label: "partners.partner.approve", Done: "partners.partner.approved", Mails: true,
		},
		{
			Verb: "reject", Needs: registry.DecideApprovals, Do: site.ByID(service.Reject), From: []string{store.PartnerRequested}, Reason: true,
			Label: "partners.partner.reject", Explain: "partners.partner.reject-text",
			Done: "partners.partner.rejected", Mails: true,
		},
		{
			Verb: "resume", Proof: true, Needs: registry.ChangePartners, Do: site.ByIDAlone(service.Resume), From: []string{store.PartnerSuspended}, Kind: ui.Primary,
			Label: "partners.partner.resume", Done: "partners.partner.resumed",
		},
		{
			Verb: "suspend", Needs: registry.ChangePartners, Do: site.ByID(service.Suspend), From: []string{store.PartnerApproved}, Reason: true,
			Label:   "partners.partner.suspend",
			Explain: "partners.partner.suspend-text",
			Done:    "partners.partner.suspended", Mails: true,
		},
		{
			Verb: "end", Needs: registry.ChangePartners, Do: site.ByID(service.End), From: []string{store.PartnerApproved, store.PartnerSuspended}, Reason: true,
			Label:   "partners.partner.end",
			Explain: "partners.partner.end-text",
			Done:    "partners.partner.ended", Mails: true,
		},
	}
}

// confirmStep confirms a registration whose mail did not arrive.
func (p *pages) confirmStep() site.Step {
	return site.Step{
		Verb: "confirm", Proof: true, Needs: registry.DecideApprovals, Do: site.ByID(p.Registry.Partners.Vouch), From: []string{store.PartnerRequested}, Reason: true,
		Label:   "partners.partner.confirm",
		Explain: "partners.partner.confirm-text",
		Done:    "partners.partner.confirmed",
	}
}

// partnerQueues leads to what the endpoints of a partner get and missed.
func partnerQueues(ctx context.Context, id string) []ui.Named {
	of := "partner=" + id
	return []ui.Named{
		{Name: i18n.T(ctx, "site.nav.dead-letters"), Href: "/admin/dead-letters?" + of},
		{Name: i18n.T(ctx, "site.nav.error-queue"), Href: "/admin/errors?" + of},
		{Name: i18n.T(ctx, "site.nav.issues"), Href: "/admin/issues?state=unresolved&" + of},
		{Name: i18n.T(ctx, "site.nav.deliveries"), Href: "/admin/deliveries?" + of},
		{Name: i18n.T(ctx, "site.again-since"), Href: "/admin/jobs/new?" + of},
	}
}
