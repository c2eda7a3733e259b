package partners

import (
	"context"
	"github.com/labstack/echo/v4"
	"schakel/registry"
	"schakel/registry/partners"
	"schakel/store"
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
	v.Acts = site.Acts(ctx, p.subscriptionSteps(), "/admin/subscriptions/"+sub.ID, sub.Status, r, ui.Hidden{Name: "seen", Value: grant.Seen()})
	v.History, err = p.History(ctx, store.AuditFilter{ObjectKind: "subscription", ObjectID: sub.ID}, "")
	if err != nil {
		return err
	}
	title := subscriptionName(ctx, sub)
	if sub.Name == "" {
		title = "Subscription of " + grant.Partner.Name
	}
	page := p.Frame(c, title, ui.Crumb{Label: "Subscriptions", Href: "/admin/subscriptions"})
	page.Badge, page.Invalid = ui.State(sub.Status), r.Status != 0
	return p.Render(c, r.Code(), view.AdminSubscription(page, v))
}

// subscriptionView builds the view of a grant, requested or approved.
func subscriptionView(ctx context.Context, g partners.Grant) view.AdminSubscriptionView {
	sub := g.Subscription
	v := view.AdminSubscriptionView{
		ID: sub.ID, Name: sub.Name, Status: sub.Status, Reason: sub.StatusReason, Purpose: sub.Purpose,
		Partner:       ui.Named{Name: g.Partner.Name, Href: "/admin/partners/" + g.Partner.ID},
		Endpoint:      ui.Named{Name: g.Endpoint.Name, Href: "/admin/endpoints/" + g.Endpoint.ID},
		PartnerStatus: g.Partner.Status, EndpointStatus: g.Endpoint.Status, URL: g.Endpoint.URL, Host: g.Host, Pull: g.Endpoint.Kind == store.EndpointPull,
		Created: sub.CreatedAt.Time, Decided: sub.DecidedAt.Time, DecidedBy: sub.DecidedBy,
		DeliveriesHref: "/admin/deliveries?subscription=" + sub.ID,
	}
	if sub.Sending {
		v.ReplayHref = "/admin/replays?subscription=" + sub.ID
	}
	for _, t := range g.Types {
		v.Types = append(v.Types, grantedType(t))
	}
	for _, s := range g.Sources {
		v.Sources = append(v.Sources, view.GrantedSource{Type: s.Type, Partner: s.PartnerName, Source: s.Source, Own: s.Own})
	}
	return v
}

func grantedType(t partners.GrantType) ui.GrantedType {
	row := ui.GrantedType{Name: t.Type.Name, Title: t.Type.Title, Status: t.Type.Status, Classification: t.Classification, Known: t.Known}
	if t.Known {
		row.Href = site.EventTypeHref(t.Type.Name)
		row.Contract = ui.Named{
			Name: t.ContractTitle + " " + lineWords(t), Href: site.ContractVersionHref(t.Type.ContractID, t.Type.ContractVersion),
		}
	}
	return row
}

// lineWords lists the versions that a grant gives, with the newest of those.
func lineWords(t partners.GrantType) string {
	if t.Line == "" {
		return "every version, now " + t.Type.ContractVersion
	}
	return registry.LineName(t.Line) + ", now " + t.Type.ContractVersion
}

// subscriptionSteps are the decisions about a subscription.
func (p *pages) subscriptionSteps() []site.Step {
	subs := p.Registry.Subscriptions
	return []site.Step{
		{
			Verb: "approve", Do: p.approveSubscription, From: []string{store.SubscriptionRequested}, Kind: ui.Primary,
			Label: "Approve the subscription", Done: "The subscription is approved. It gets what it asked for from now on.",
		},
		{
			Verb: "reject", Do: site.ByID(subs.Reject), From: []string{store.SubscriptionRequested}, Reason: true,
			Label: "Reject the subscription", Explain: "The partner reads the reason and can ask again. When it asks for another area or other object types, it goes on with those it has.",
			Done: "The subscription is rejected.", Mails: true,
		},
		{
			Verb: "resume", Do: site.ByIDAlone(subs.Resume), From: []string{store.SubscriptionSuspended}, Kind: ui.Primary,
			Label: "Resume the subscription", Done: "The subscription is resumed. What was held is sent now.",
		},
		{
			Verb: "suspend", Do: site.ByID(subs.Suspend), From: []string{store.SubscriptionApproved, store.SubscriptionPaused}, Reason: true,
			Label:   "Suspend the subscription",
			Explain: "It gets no new events, and what waits for it is held until you resume.",
			Done:    "The subscription is suspended.", Mails: true,
		},
		{
			Verb: "end", Do: site.ByID(subs.End), From: []string{store.SubscriptionApproved, store.SubscriptionPaused, store.SubscriptionSuspended},
			Reason: true, Label: "End the subscription for good",
			Explain: "It gets no events any more; what still waits becomes a dead letter. The partner can ask for another.",
			Done:    "The subscription has ended.", Mails: true,
		},
	}
}

// approveSubscription approves what the page showed: when the subscription changed meanwhile, it approves nothing.
func (p *pages) approveSubscription(c echo.Context, a registry.Actor, _ string) error {
	return p.Registry.Subscriptions.ApproveSeen(c.Request().Context(), a, c.Param("id"), c.Request().PostForm.Get("seen"))
}
