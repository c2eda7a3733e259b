package partners

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"schakel/registry"
	"schakel/store"
	"schakel/templates/i18n"
)

// Actions that may wait for a second person.
const (
	confirmPartner      = "partner.approve"
	confirmCorrection   = "partner.correct"
	confirmSubscription = "subscription.approve"
	confirmRoute        = "route.add"
)

// Confirmed does the actions of this package that a second person confirmed, by the name of the action.
func Confirmed(p *Partners, s *Subscriptions, r *Routes, e *Endpoints) map[string]func(context.Context, registry.Actor, store.Confirmation) error {
	return map[string]func(context.Context, registry.Actor, store.Confirmation) error{
		confirmPartner: func(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
			return p.Approve(ctx, actor, c.ObjectID)
		},
		confirmCorrection: func(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
			var in Registration
			if err := json.Unmarshal([]byte(c.Args), &in); err != nil {
				return fmt.Errorf("read correction that was asked for: %w", err)
			}
			return p.Correct(ctx, actor, c.ObjectID, in)
		},
		confirmSubscription: func(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
			return s.Approve(ctx, actor, c.ObjectID)
		},
		ConfirmMove: func(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
			var move string
			if err := json.Unmarshal([]byte(c.Args), &move); err != nil {
				return fmt.Errorf("read destination that was asked for: %w", err)
			}
			return e.ApproveMove(ctx, actor, c.ObjectID, move)
		},
		confirmRoute: func(ctx context.Context, actor registry.Actor, c store.Confirmation) error {
			var in NewRoute
			if err := json.Unmarshal([]byte(c.Args), &in); err != nil {
				return fmt.Errorf("read route that was asked for: %w", err)
			}
			_, err := r.Add(ctx, actor, in)
			return err
		},
	}
}

// holdApproval approves a registration by do, or makes that wait.
func (p *Partners) holdApproval(ctx context.Context, actor registry.Actor, id string, do func(context.Context) error) error {
	partner, err := p.cfg.DB.Partner(ctx, id)
	if err != nil {
		return registry.Found("partner", err)
	}
	return p.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: confirmPartner, Object: partnerObject(partner), Lock: "partner",
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			now, err := p.cfg.DB.Partner(ctx, id)
			if err != nil {
				return nil, "", registry.Found("partner", err)
			}
			changes := []i18n.Message{
				i18n.M("partners.confirm.partner", now.Name), i18n.M("partners.confirm.contact", now.ContactName, now.ContactEmail),
			}
			if now.OIN != "" {
				changes = append(changes, i18n.M("partners.confirm.oin", now.OIN))
			}
			state, err := registry.Fingerprint(now.Status, now.Name, now.OIN, now.KVK, now.BRIN, now.HerID, now.OrgNumber, now.ContactName, now.ContactEmail, now.EmailConfirmedAt)
			return changes, state, err
		},
	}, do)
}

// holdCorrection corrects what a partner registered by do, or makes that wait where it gives one that was approved other numbers.
func (p *Partners) holdCorrection(ctx context.Context, actor registry.Actor, id string, in Registration, do func(context.Context) error) error {
	partner, err := p.cfg.DB.Partner(ctx, id)
	if err != nil {
		return registry.Found("partner", err)
	}
	return p.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: confirmCorrection, Object: partnerObject(partner), Args: in, Lock: "partner",
		Free: partner.Status == store.PartnerRequested || numbers(partner) == numbers(in.corrected(partner)),
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			now, err := p.cfg.DB.Partner(ctx, id)
			if err != nil {
				return nil, "", registry.Found("partner", err)
			}
			changes := []i18n.Message{i18n.M("partners.confirm.correction", now.Name)}
			for _, change := range correctionParts(now, in.corrected(now)) {
				changes = append(changes, change.Line())
			}
			state, err := registry.Fingerprint(now.Status, now.Name, numbers(now), now.ContactName, now.ContactEmail, now.ContactPhone)
			return changes, state, err
		},
	}, do)
}

// holdApproval approves a subscription by do, or makes that wait. It is about where the events go too.
func (s *Subscriptions) holdApproval(ctx context.Context, actor registry.Actor, id string, do func(context.Context) error) error {
	sub, err := s.Get(ctx, actor.Scope(), id)
	if err != nil {
		return err
	}
	return s.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoApprovals, Action: confirmSubscription, Object: subscriptionObject(sub), Lock: "subscription",
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			g, err := s.Grant(ctx, registry.Scope{All: true}, id)
			if err != nil {
				return nil, "", err
			}
			where := i18n.M("partners.confirm.endpoint", g.Endpoint.Name)
			if g.Host != "" {
				where = i18n.M("partners.confirm.endpoint-host", g.Endpoint.Name, g.Host)
			}
			if g.Party != nil {
				broker, err := s.cfg.DB.AMQPBroker(ctx, g.Party.BrokerID)
				if err != nil {
					return nil, "", registry.Found("broker", err)
				}
				at := slices.DeleteFunc([]string{g.Party.AsyncQueue, broker.Name, broker.URL}, func(s string) bool { return s == "" })
				where = i18n.M("partners.confirm.endpoint-host", g.Endpoint.Name, strings.Join(at, ", "))
			}
			changes := []i18n.Message{
				i18n.M("partners.confirm.subscription", g.Partner.Name, strings.Join(registry.SubscribedTo(g.Subscription), ", ")), where,
			}
			e := g.Endpoint
			state, err := registry.Fingerprint(g.Seen(), g.Subscription.Status, g.Partner.Status, e.ID, e.Kind, e.URL, e.TokenURL, e.Status)
			return changes, state, err
		},
	}, do)
}

// holdRoute opens a route by do, or makes that wait.
func (r *Routes) holdRoute(ctx context.Context, actor registry.Actor, in NewRoute, do func(context.Context) error) error {
	return r.cfg.Hold(ctx, actor, registry.Ask{
		Kind: registry.TwoRoutes, Action: confirmRoute, Args: in,
		Object: registry.ObjectOf("route", strings.Join([]string{in.FromPartnerID, in.ToPartnerID, in.EventType}, " "), in.EventType, ""),
		Describe: func(ctx context.Context) ([]i18n.Message, string, error) {
			from, to, err := in.check(ctx, &r.cfg.DB.Queries)
			if err != nil {
				return nil, "", err
			}
			state, err := registry.Fingerprint(from.Name, from.OIN, from.Status, to.Name, to.OIN, to.Status)
			return []i18n.Message{i18n.M("partners.confirm.route", in.EventType, from.Name, to.Name)}, state, err
		},
	}, do)
}
