package partners

import (
	"context"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// mailDecided tells the administrators that one of them let a partner in: by the session of a colleague that was stolen, they would not know.
func (p *Partners) mailDecided(ctx context.Context, tx *store.Tx, actor registry.Actor, row store.Partner, change registry.Change) error {
	return p.cfg.MailChange(ctx, tx, actor, "", i18n.M("partners.mail.corrected-subject", row.Name),
		registry.ChangePages{Administrator: "/admin/partners/" + row.ID}, []registry.Change{change})
}

// mailLetsFlow tells the administrators that one of them let data flow by a subscription.
func (s *Subscriptions) mailLetsFlow(ctx context.Context, tx *store.Tx, actor registry.Actor, before string, sub store.Subscription, partner store.Partner, endpoint store.Endpoint) error {
	return s.cfg.MailChange(ctx, tx, actor, "", i18n.M("partners.mail.subscription-subject", partner.Name, endpoint.Name),
		registry.ChangePages{Administrator: "/admin/subscriptions/" + sub.ID}, []registry.Change{
			{What: "partners.mail.part-state", From: subscriptionState(before), To: subscriptionState(sub.Status)},
			registry.ChangeOf("partners.mail.part-subscribed", "", strings.Join(registry.SubscribedTo(sub), ", ")),
		})
}

// mailRoute tells the managers of the partner whose data goes to another, and the administrators, that it does or does no longer.
func (r *Routes) mailRoute(ctx context.Context, tx *store.Tx, actor registry.Actor, route store.Route, from, to store.Partner, open bool) error {
	change := registry.Change{What: i18n.M("partners.mail.part-route", route.EventType), From: "ui.no", To: "ui.yes"}
	if !open {
		change.From, change.To = change.To, change.From
	}
	return r.cfg.MailChange(ctx, tx, actor, from.ID, i18n.M("partners.mail.route-subject", from.Name, to.Name),
		registry.ChangePages{Administrator: "/admin/routes", Partner: "/partner/audit"}, []registry.Change{change})
}
