package deliveries

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"schakel/delivery/outbox"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/ui"
	"schakel/web/site"
)

// DeliveryContext holds a delivery with the rows that decide its next step. A row that is gone stays empty.
type DeliveryContext struct {
	Delivery     store.Delivery
	Partner      store.Partner
	Endpoint     store.Endpoint
	Subscription store.Subscription
	jobAction    string // of the job that sent it once more; empty for none
}

func (p *Pages) deliveryContext(ctx context.Context, d store.Delivery) (DeliveryContext, error) {
	at := DeliveryContext{Delivery: d}
	actions, err := site.JobActions(ctx, p.DB, []store.Delivery{d})
	if err != nil {
		return at, err
	}
	at.jobAction = actions[d.ReplayOf]
	if at.Partner, err = p.DB.Partner(ctx, d.PartnerID); err != nil && !errors.Is(err, store.ErrNotFound) {
		return at, err
	}
	if at.Endpoint, err = p.DB.Endpoint(ctx, d.EndpointID); err != nil && !errors.Is(err, store.ErrNotFound) {
		return at, err
	}
	if d.SubscriptionID == "" {
		return at, nil
	}
	at.Subscription, err = p.DB.Subscription(ctx, d.SubscriptionID)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return at, err
}

// mayRead reports whether the event may be shown. A partner reads what it got, and
// what is still meant for it; what was held back by a revocation stays held back
// here too (guarantee G2).
func (at DeliveryContext) mayRead(area site.DeliveryArea) bool {
	d := at.Delivery
	return area.Admin || d.SubscriptionID == "" || d.Status == store.DeliveryDelivered || !d.DeliveredAt.IsZero() || at.Subscription.Accepting
}

// maySend reports whether the delivery may be sent to its endpoint.
func (at DeliveryContext) maySend() bool {
	if at.Delivery.SubscriptionID == "" {
		return at.Partner.Status == store.PartnerApproved && at.Endpoint.Status != store.EndpointEnded
	}
	return at.Subscription.Sending
}

// deliveryView builds the view of a delivery: its state and the actions on it.
func deliveryView(ctx context.Context, area site.DeliveryArea, at DeliveryContext, now time.Time) view.DeliveryView {
	d := at.Delivery
	v := view.DeliveryView{Self: area.Delivery(d.ID), State: d.Status, Headline: stateWord(d.Status), Text: d.Detail, Now: now}
	switch d.Status {
	case store.DeliveryPending, store.DeliveryRetrying:
		if v.Wait = at.WaitsFor(ctx, now); v.Wait == "" {
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
		words := site.ReasonOf(d.Reason)
		v.Headline += ": " + words.Label.In(ctx)
		if d.Detail == "" {
			v.Text = words.Remedy.In(ctx)
		}
	}
	v.ResendLabel = site.ResendLabel(ctx, d)
	if d.Status == store.DeliveryDelivered {
		v.ResendLabel = "Send again"
	}
	if v.ResendLabel != "" && at.maySend() {
		v.Resend = v.Self + "/resend"
		if warning := resendWarning(at.Endpoint, now); warning != "" && d.Status != store.DeliveryRetrying { // there it says already what it waits for
			v.Warnings = []string{warning}
		}
	} else if v.ResendLabel != "" && d.Status != store.DeliveryDelivered && !slices.Contains(site.StoppedReasons(), d.Reason) {
		v.Wait = "It can be resent once the subscription is approved and its endpoint in use."
	}
	return v
}

// WaitsFor explains why an open delivery is not tried yet; "" when only time stands between.
func (at DeliveryContext) WaitsFor(ctx context.Context, now time.Time) string {
	ep := at.Endpoint
	switch {
	case ep.Status == store.EndpointPaused:
		return "The endpoint is paused. It follows when the endpoint is resumed."
	case ep.Status == store.EndpointSuspended:
		return "The endpoint is suspended. It follows when the suspension is lifted."
	case !at.maySend():
		return "The subscription is not approved now, so nothing is sent to it."
	case at.Delivery.SubscriptionID != "" && site.OpensText(ctx, ep, now) != "":
		return site.OpensText(ctx, ep, now) + " The lifetime of its Idempotency-Key goes on meanwhile."
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
func deliveryFacts(ctx context.Context, area site.DeliveryArea, at DeliveryContext, now time.Time) []ui.Item {
	d := at.Delivery
	items := []ui.Item{
		{Label: "State", Content: ui.State(d.Status)},
		{Label: "Delivery id", Content: ui.Identifier(d.ID)},
	}
	if area.Admin {
		items = append(items, ui.Item{Label: "Event", Content: ui.Link(d.EventID, "/admin/events/"+d.EventID)},
			ui.Item{Label: "Partner", Content: ui.Link(cmp.Or(at.Partner.Name, d.PartnerID), "/admin/partners/"+d.PartnerID)})
	}
	items = append(items, ui.Item{
		Label: "Endpoint", Content: ui.Link(cmp.Or(at.Endpoint.Name, d.EndpointID), area.Base+"/endpoints/"+d.EndpointID),
	})
	items = append(items, subscriptionItem(area, at),
		ui.Item{Label: "Tries", Text: triesText(d)},
		ui.Item{Label: createdLabel(at), Content: ui.Clock(d.CreatedAt.Time, now)},
		ui.Item{Label: "Last changed", Content: ui.Clock(d.UpdatedAt.Time, now)})
	if d.ReplayOf != "" {
		items = append(items, jobItem(ctx, area, at))
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
func createdLabel(at DeliveryContext) string {
	if at.Delivery.ReplayOf != "" && at.jobAction != outbox.ActionResend {
		return "Made"
	}
	return "Accepted"
}

// jobItem names the job that resent a delivery, or replayed its event. Partners see their own jobs.
func jobItem(ctx context.Context, area site.DeliveryArea, at DeliveryContext) ui.Item {
	id, label := at.Delivery.ReplayOf, site.Capital(site.OnceMore(ctx, at.jobAction))+" by job"
	if area.Admin {
		return ui.Item{Label: label, Content: ui.Link(id, area.Job(id))}
	}
	return ui.Item{Label: label, Content: ui.Identifier(id)}
}

func subscriptionItem(area site.DeliveryArea, at DeliveryContext) ui.Item {
	id := at.Delivery.SubscriptionID
	if id == "" {
		return ui.Item{Label: "Subscription", Text: "none: a test of the endpoint"}
	}
	return ui.Item{Label: "Subscription", Content: ui.Link(cmp.Or(at.Subscription.Name, id), area.Base+"/subscriptions/"+id)}
}

func triesText(d store.Delivery) string {
	text := ui.Count(int(d.Attempts))
	if d.Round < d.Attempts {
		text += ", of which " + ui.Count(int(d.Round)) + " since it was last resent"
	}
	return text
}

// AttemptViews shows the newest attempts, newest first; earlier counts those it left out.
func AttemptViews(ctx context.Context, attempts []store.Attempt, area site.DeliveryArea) (views []view.AttemptView, earlier int) {
	earlier = max(0, len(attempts)-MaxShownAttempts)
	for _, a := range slices.Backward(attempts[earlier:]) {
		v := attemptView(ctx, a, earlier+len(attempts[earlier:])-len(views))
		if a.BatchID != "" {
			v.Batch = area.Batch(a.BatchID)
		}
		views = append(views, v)
	}
	return views, earlier
}

// attemptView shows one try. The place names it on the page: after a crash two
// tries can have the same number.
func attemptView(ctx context.Context, a store.Attempt, place int) view.AttemptView {
	if title := receiveTitle(a.ErrorKind); title != "" {
		return receiveView(a, place, title)
	}
	v := view.AttemptView{
		Number: place, At: a.StartedAt.Time, OK: a.StatusCode >= 200 && a.StatusCode < 300,
		Title: "Attempt " + strconv.FormatInt(a.Number, 10) + ": " + attemptTitle(ctx, a), Text: attemptText(a),
		Next: a.NextAt.Time, URL: a.URL, Answered: a.StatusCode != 0,
	}
	v.Sent = "POST " + site.Shown(SafeURL(a.URL)) + "\n" + HeaderLines(a.RequestHeaders)
	if v.Answered {
		v.Headers = statusLine(a.StatusCode) + "\n" + HeaderLines(a.ResponseHeaders)
		v.Body, v.BodyCut = site.Readable(a.ResponseBody, site.MaxShownValue)
	}
	return v
}

func attemptTitle(ctx context.Context, a store.Attempt) string {
	if a.StatusCode != 0 {
		return "answered " + statusLine(a.StatusCode)
	}
	return site.FailureKind(ctx, a.ErrorKind)
}

func attemptText(a store.Attempt) string {
	took := "less than 1 ms"
	if d := time.Duration(a.DurationUS) * time.Microsecond; d >= time.Millisecond {
		took = ui.Duration(d)
	}
	text := "It took " + took + "."
	if a.Error != "" {
		text += " " + site.Shown(a.Error)
	}
	return text
}

func statusLine(status int64) string {
	return strings.TrimSpace(strconv.FormatInt(status, 10) + " " + http.StatusText(int(status)))
}

// HeaderLines writes stored headers a line each, by name.
func HeaderLines(stored string) string {
	if stored == "" {
		return ""
	}
	var header http.Header
	if err := json.Unmarshal([]byte(stored), &header); err != nil {
		return "(the headers as stored cannot be read)"
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if isSecretHeader(name) {
				value = "[redacted]"
			}
			b.WriteString(site.Shown(name) + ": " + site.Shown(value) + "\n")
		}
	}
	return b.String()
}

// isSecretHeader guards what the sender took out already: no secret on any page.
func isSecretHeader(name string) bool {
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key":
		return true
	}
	return false
}

// SafeURL leaves the password of an address out.
func SafeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	return u.Redacted()
}
