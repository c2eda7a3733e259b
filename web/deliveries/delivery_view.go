package web

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
)

// deliveryContext holds a delivery with the rows that decide its next step. A row that is gone stays empty.
type deliveryContext struct {
	delivery     store.Delivery
	partner      store.Partner
	endpoint     store.Endpoint
	subscription store.Subscription
	jobAction    string // of the job that sent it once more; empty for none
}

func (p *portal) deliveryContext(ctx context.Context, d store.Delivery) (deliveryContext, error) {
	at := deliveryContext{delivery: d}
	actions, err := jobActions(ctx, p.DB, []store.Delivery{d})
	if err != nil {
		return at, err
	}
	at.jobAction = actions[d.ReplayOf]
	if at.partner, err = p.DB.Partner(ctx, d.PartnerID); err != nil && !errors.Is(err, store.ErrNotFound) {
		return at, err
	}
	if at.endpoint, err = p.DB.Endpoint(ctx, d.EndpointID); err != nil && !errors.Is(err, store.ErrNotFound) {
		return at, err
	}
	if d.SubscriptionID == "" {
		return at, nil
	}
	at.subscription, err = p.DB.Subscription(ctx, d.SubscriptionID)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return at, err
}

// mayRead reports whether the event may be shown. A partner reads what it got, and
// what is still meant for it; what was held back by a revocation stays held back
// here too (guarantee G2).
func (at deliveryContext) mayRead(area deliveryArea) bool {
	d := at.delivery
	return area.admin || d.SubscriptionID == "" || d.Status == store.DeliveryDelivered || !d.DeliveredAt.IsZero() || at.subscription.Accepting
}

// maySend reports whether the delivery may be sent to its endpoint.
func (at deliveryContext) maySend() bool {
	if at.delivery.SubscriptionID == "" {
		return at.partner.Status == store.PartnerApproved && at.endpoint.Status != store.EndpointEnded
	}
	return at.subscription.Sending
}

// deliveryView builds the view of a delivery: its state and the actions on it.
func deliveryView(area deliveryArea, at deliveryContext, now time.Time) view.DeliveryView {
	d := at.delivery
	v := view.DeliveryView{Self: area.delivery(d.ID), State: d.Status, Headline: stateWord(d.Status), Text: d.Detail, Now: now}
	switch d.Status {
	case store.DeliveryPending, store.DeliveryRetrying:
		if v.Wait = at.waitsFor(now); v.Wait == "" {
			v.Due = d.DueAt.Time
		}
		if d.LeaseOwner != "" {
			v.Wait, v.Due = "It is being sent at this moment.", time.Time{}
		}
	case store.DeliveryDelivered:
		v.Text = "The receiver has it"
		if d.LastStatus != 0 {
			v.Text += ": it answered " + strconv.FormatInt(d.LastStatus, 10)
		}
		v.Text += "."
	case store.DeliveryDiscarded:
		if v.Headline, v.Text = "Discarded", d.Detail; d.Reason != store.ReasonEventExpired {
			v.Headline, v.Text = "Discarded: it is not sent any more", "Reason: "+d.Detail
		}
	}
	if d.Reason != "" && (d.Status != store.DeliveryDiscarded || d.Reason == store.ReasonEventExpired) {
		words := reasonOf(d.Reason)
		v.Headline += ": " + words.Label
		if d.Detail == "" {
			v.Text = words.Remedy
		}
	}
	v.ResendLabel = resendLabel(d)
	if d.Status == store.DeliveryDelivered {
		v.ResendLabel = "Send again"
	}
	if v.ResendLabel != "" && at.maySend() {
		v.Resend = v.Self + "/resend"
		if warning := resendWarning(at.endpoint, now); warning != "" && d.Status != store.DeliveryRetrying { // there it says already what it waits for
			v.Warnings = []string{warning}
		}
	} else if v.ResendLabel != "" && d.Status != store.DeliveryDelivered && !slices.Contains(stoppedReasons(), d.Reason) {
		v.Wait = "It can be resent once the subscription is approved and its endpoint in use."
	}
	return v
}

// waitsFor explains why an open delivery is not tried yet; "" when only time stands between.
func (at deliveryContext) waitsFor(now time.Time) string {
	ep := at.endpoint
	switch {
	case ep.Status == store.EndpointPaused:
		return "The endpoint is paused. It follows when the endpoint is resumed."
	case ep.Status == store.EndpointSuspended:
		return "The endpoint is suspended. It follows when the suspension is lifted."
	case !at.maySend():
		return "The subscription is not approved now, so nothing is sent to it."
	case at.delivery.SubscriptionID != "" && opensText(ep, now) != "":
		return opensText(ep, now) + " The lifetime of its Idempotency-Key goes on meanwhile."
	case ep.Circuit == store.CircuitOpen:
		return "The endpoint failed many times in a row, so it is left alone for a while. One delivery tries it at " + ui.Time(ep.CircuitProbeAt.Time) + "."
	case ep.Circuit == store.CircuitHalfOpen:
		return "The endpoint failed many times in a row. One delivery is trying whether it works again."
	case ep.WaitsAt(now):
		return "The receiver asked for no requests until " + ui.Time(ep.WaitUntil.Time) + " (Retry-After). Then one delivery tries it, and the others follow."
	}
	return ""
}

// deliveryFacts are the properties of a delivery.
func deliveryFacts(area deliveryArea, at deliveryContext, now time.Time) []ui.Item {
	d := at.delivery
	items := []ui.Item{
		{Label: "State", Content: ui.State(d.Status)},
		{Label: "Delivery id", Content: ui.Identifier(d.ID)},
	}
	if area.admin {
		items = append(items, ui.Item{Label: "Event", Content: ui.Link(d.EventID, "/admin/events/"+d.EventID)},
			ui.Item{Label: "Partner", Content: ui.Link(orElse(at.partner.Name, d.PartnerID), "/admin/partners/"+d.PartnerID)})
	}
	items = append(items, ui.Item{
		Label: "Endpoint", Content: ui.Link(orElse(at.endpoint.Name, d.EndpointID), area.base+"/endpoints/"+d.EndpointID),
	})
	items = append(items, subscriptionItem(area, at),
		ui.Item{Label: "Tries", Text: triesText(d)},
		ui.Item{Label: createdLabel(at), Content: ui.Clock(d.CreatedAt.Time, now)},
		ui.Item{Label: "Last changed", Content: ui.Clock(d.UpdatedAt.Time, now)})
	if d.ReplayOf != "" {
		items = append(items, jobItem(area, at))
	}
	if !d.ExpiresAt.IsZero() {
		items = append(items, ui.Item{Label: "Event expires", Content: ui.Clock(d.ExpiresAt.Time, now)})
	}
	if !d.DeliveredAt.IsZero() {
		items = append(items, ui.Item{Label: "Delivered", Content: ui.Clock(d.DeliveredAt.Time, now)})
	}
	return append(items,
		ui.Item{Label: "Idempotency-Key", Content: ui.Identifier(d.IdempotencyKey)},
		ui.Item{Label: "Key valid until", Content: ui.Clock(d.KeyExpiresAt.Time, now)})
}

// createdLabel names what made a delivery: the event was accepted, or it was replayed later.
func createdLabel(at deliveryContext) string {
	if at.delivery.ReplayOf != "" && at.jobAction != outbox.ActionResend {
		return "Made"
	}
	return "Accepted"
}

// jobItem names the job that resent a delivery, or replayed its event. Partners see their own jobs.
func jobItem(area deliveryArea, at deliveryContext) ui.Item {
	id, label := at.delivery.ReplayOf, capital(onceMore(at.jobAction))+" by job"
	if area.admin {
		return ui.Item{Label: label, Content: ui.Link(id, area.job(id))}
	}
	return ui.Item{Label: label, Content: ui.Identifier(id)}
}

func subscriptionItem(area deliveryArea, at deliveryContext) ui.Item {
	id := at.delivery.SubscriptionID
	if id == "" {
		return ui.Item{Label: "Subscription", Text: "none: a test of the endpoint"}
	}
	return ui.Item{Label: "Subscription", Content: ui.Link(orElse(at.subscription.Name, id), area.base+"/subscriptions/"+id)}
}

func triesText(d store.Delivery) string {
	text := ui.Count(int(d.Attempts))
	if d.Round < d.Attempts {
		text += ", of which " + ui.Count(int(d.Round)) + " since it was last resent"
	}
	return text
}
