package partners

import (
	"context"

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

// adminSubscription shows a subscription with what it grants, exactly.
func (p *pages) adminSubscription(c echo.Context) error { return p.showSubscription(c, site.Refusal{}) }

// showSubscription shows a subscription, with why a decision about it was refused.
func (p *pages) showSubscription(c echo.Context, r site.Refusal) error {
	ctx := c.Request().Context()
	grant, err := p.Registry.Subscriptions.Grant(ctx, site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return err
	}
	sub := grant.Subscription
	v := subscriptionView(ctx, grant)
	v.Now, v.Message = p.Cfg.Now(), r.Message
	if v.Dataset, err = p.subscribedDataset(ctx, grant, "/admin"); err != nil {
		return err
	}
	if v.Selected, err = p.selected(ctx, sub, grant.Endpoint); err != nil {
		return err
	}
	if v.Orphaned, err = p.orphanedBy(ctx, sub); err != nil {
		return err
	}
	if v.Unready, err = p.Readiness(true).OfSubscription(ctx, sub); err != nil {
		return err
	}
	if v.Facts, err = p.destinationFacts(ctx, grant); err != nil {
		return err
	}
	if v.Check, err = p.lastCheck(ctx, grant.Endpoint, "/admin/endpoints/"+grant.Endpoint.ID); err != nil {
		return err
	}
	if v.Flow, err = p.subscriptionFlow(ctx, grant); err != nil {
		return err
	}
	steps, err := p.TwoPeople(ctx, p.subscriptionSteps())
	if err != nil {
		return err
	}
	v.Acts = site.Acts(ctx, steps, "/admin/subscriptions/"+sub.ID, sub.Status, r, ui.Hidden{Name: "seen", Value: grant.Seen()})
	v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "subscription", ObjectID: sub.ID}, "")
	if err != nil {
		return err
	}
	title := subscriptionName(ctx, sub)
	if sub.Name == "" {
		title = i18n.T(ctx, "partners.subscription.of", grant.Partner.Name)
	}
	page := p.Frame(c, title, ui.Crumb{Label: i18n.T(ctx, "partners.label.subscriptions"), Href: "/admin/subscriptions"})
	page.Badge, page.Invalid = ui.BadgeOr(sub.Status, v.Unready), r.Status != 0
	if err := p.NoteWaiting(ctx, &page, "subscription", sub.ID); err != nil {
		return err
	}
	return p.Render(c, r.Code(), view.AdminSubscription(page, v))
}

// destinationFacts describe where events would go. An endpoint at a message broker has the queues of its party there, or no party yet.
func (p *pages) destinationFacts(ctx context.Context, g partners.Grant) ([]ui.Item, error) {
	items := p.EndpointFacts(ctx, g.Endpoint, g.Host)
	if g.Endpoint.Kind != store.EndpointAMQP {
		return items, nil
	}
	party := i18n.T(ctx, "amqp.label.party")
	if g.Party == nil {
		return append(items, ui.Item{Label: party, Text: i18n.T(ctx, "site.unready.no-party")}), nil
	}
	broker, err := p.DB.AMQPBroker(ctx, g.Party.BrokerID)
	if err != nil {
		return nil, err
	}
	items = append(items, ui.Item{Label: party, Text: g.Party.Name}, ui.Item{Label: i18n.T(ctx, "amqp.label.broker"), Text: broker.Name + ", " + broker.URL})
	if g.Party.HerID > 0 {
		items = append(items, ui.Item{Label: i18n.T(ctx, "amqp.label.her-id"), Text: site.NumberText(g.Party.HerID)})
	}
	items = ui.TextItem(items, i18n.T(ctx, "amqp.party.async-queue"), g.Party.AsyncQueue)
	return ui.TextItem(items, i18n.T(ctx, "amqp.party.sync-queue"), g.Party.SyncQueue), nil
}

// subscriptionView builds the view of a grant, requested or approved.
func subscriptionView(ctx context.Context, g partners.Grant) view.AdminSubscriptionView {
	sub := g.Subscription
	v := view.AdminSubscriptionView{
		ID: sub.ID, Name: sub.Name, Status: sub.Status, Reason: i18n.Message(sub.StatusReason).In(ctx), Purpose: sub.Purpose,
		Partner:       ui.Named{Name: g.Partner.Name, Href: "/admin/partners/" + g.Partner.ID},
		Endpoint:      ui.Named{Name: g.Endpoint.Name, Href: "/admin/endpoints/" + g.Endpoint.ID},
		PartnerStatus: g.Partner.Status, EndpointStatus: g.Endpoint.Status, URL: g.Endpoint.URL, Inbox: g.Endpoint.Kind == store.EndpointInbox,
		Created: sub.CreatedAt.Time, Decided: sub.DecidedAt.Time, DecidedBy: sub.DecidedBy,
		DeliveriesHref: "/admin/deliveries?subscription=" + sub.ID,
	}
	if sub.Sending {
		v.ReplayHref = "/admin/replays?subscription=" + sub.ID
	}
	for _, t := range g.Types {
		v.Types = append(v.Types, grantedType(ctx, t))
	}
	for _, s := range g.Sources {
		v.Sources = append(v.Sources, view.GrantedSource{Type: s.Type, Partner: s.PartnerName, Client: clientLink(s), Source: site.SourceWords(ctx, s.Source), Own: s.Own})
	}
	return v
}

// clientLink leads to the client that publishes; nowhere when none does.
func clientLink(s partners.GrantSource) ui.Named {
	if s.ClientID == "" {
		return ui.Named{}
	}
	return ui.Named{Name: s.Client, Href: "/admin/clients/" + s.ClientID}
}

// subscriptionFlow shows what a subscription that waits for a decision would have got; nil for any other, and for one to a dataset.
func (p *pages) subscriptionFlow(ctx context.Context, g partners.Grant) (*ui.FlowView, error) {
	sub := g.Subscription
	if sub.Status != store.SubscriptionRequested || sub.DatasetID != "" {
		return nil, nil
	}
	v, f, err := p.Flow(ctx, outbox.Prospect{Subscriptions: []store.Subscription{sub}})
	if err != nil {
		return nil, err
	}
	v.Title, v.First = i18n.T(ctx, "partners.flow.title"), i18n.T(ctx, "partners.label.event-type")
	v.Lead = i18n.T(ctx, "partners.flow.lead", g.Partner.Name)
	for _, name := range sub.Types {
		row := p.FlowRow(ctx, f, f.Of[0], name)
		row.What = ui.Named{Name: name, Href: site.EventTypeHref(name)}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

func grantedType(ctx context.Context, t partners.GrantType) ui.GrantedType {
	row := ui.GrantedType{Name: t.Type.Name, Title: site.TypeTitle(ctx, t.Type), Status: t.Type.Status, Classification: t.Classification, Known: t.Known}
	if t.Known {
		row.Href = site.EventTypeHref(t.Type.Name)
		row.Contract = ui.Named{
			Name: lineWords(ctx, t), Href: site.ContractVersionHref(t.Type.ContractID, t.Type.ContractVersion),
		}
	}
	return row
}

// lineWords names the contract of a type with the versions of it that a grant gives, and the newest of those.
func lineWords(ctx context.Context, t partners.GrantType) string {
	if t.Line == "" {
		return i18n.T(ctx, "partners.subscription.every-version", t.ContractTitle, t.Type.ContractVersion)
	}
	return i18n.T(ctx, "partners.subscription.line-now", t.ContractTitle, registry.LineName(t.Line), t.Type.ContractVersion)
}

// subscriptionSteps are the decisions about a subscription.
func (p *pages) subscriptionSteps() []site.Step {
	subs := p.Registry.Subscriptions
	return []site.Step{
		{
			Verb: "approve", Proof: true, Needs: registry.DecideApprovals, Do: p.approveSubscription, From: []string{store.SubscriptionRequested}, Kind: ui.Primary, Two: registry.TwoApprovals,
			Label: "partners.subscription.approve", Done: "partners.subscription.approved", Confirm: p.confirmApproved,
		},
		{
			Verb: "reject", Needs: registry.DecideApprovals, Do: site.ByID(subs.Reject), From: []string{store.SubscriptionRequested}, Reason: true,
			Label: "partners.subscription.reject", Explain: "partners.subscription.reject-text",
			Done: "partners.subscription.rejected", Mails: true,
		},
		{
			Verb: "resume", Proof: true, Needs: registry.DecideApprovals, Do: site.ByIDAlone(subs.Resume), From: []string{store.SubscriptionSuspended}, Kind: ui.Primary,
			Label: "partners.subscription.resume", Done: "partners.subscription.resumed-admin",
		},
		{
			Verb: "suspend", Needs: registry.DecideApprovals, Do: site.ByID(subs.Suspend), From: []string{store.SubscriptionApproved, store.SubscriptionPaused}, Reason: true,
			Label:   "partners.subscription.suspend",
			Explain: "partners.subscription.suspend-text",
			Done:    "partners.subscription.suspended", Mails: true,
		},
		{
			Verb: "end", Needs: registry.DecideApprovals, Do: site.ByID(subs.End), From: []string{store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended},
			Reason: true, Label: "partners.subscription.end-good",
			Explain: "partners.subscription.end-good-text",
			Done:    "partners.subscription.ended", Mails: true,
		},
	}
}

// approveSubscription approves what the page showed: when the subscription changed meanwhile, it approves nothing.
func (p *pages) approveSubscription(c echo.Context, a registry.Actor, _ string) error {
	return p.Registry.Subscriptions.ApproveSeen(c.Request().Context(), a, c.Param("id"), c.Request().PostForm.Get("seen"))
}

// confirmApproved confirms an approval: that events are sent from now on is not said of what cannot be sent to.
func (p *pages) confirmApproved(c echo.Context) (i18n.Message, error) {
	ctx := c.Request().Context()
	sub, err := p.Registry.Subscriptions.Get(ctx, site.Actor(c).Scope(), c.Param("id"))
	if err != nil {
		return "", err
	}
	unready, err := p.Readiness(true).OfSubscription(ctx, sub)
	if unready != nil {
		return i18n.M("partners.subscription.approved-unready", i18n.Raw(unready.Why)), err
	}
	return "partners.subscription.approved", err
}
