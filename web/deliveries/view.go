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

	"schakel/delivery/amqp"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/store"
	view "schakel/templates/deliveries"
	"schakel/templates/i18n"
	"schakel/templates/ui"
	"schakel/web/site"
)

// DeliveryContext holds a delivery with the rows that decide its next step. A row that is gone stays empty.
type DeliveryContext struct {
	Delivery     store.Delivery
	Partner      store.Partner
	Endpoint     store.Endpoint
	Subscription store.Subscription
	jobAction    string       // of the job that sent it once more; empty for none
	sentForGood  i18n.Message // why the same message may not go by AMQP again; empty when it may
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
	if at.sentForGood, err = p.sentForGood(ctx, d, at.Endpoint); err != nil || d.SubscriptionID == "" {
		return at, err
	}
	at.Subscription, err = p.DB.Subscription(ctx, d.SubscriptionID)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return at, err
}

// mayRead reports whether the event may be shown. A partner reads what it got, and
// what is still meant for it; what was held back by a revocation stays held back
// here too (guarantee G2). A business message to another party is no affair of this one (AMQP-109).
func (at DeliveryContext) mayRead(area site.DeliveryArea) bool {
	d := at.Delivery
	if !area.Admin && d.Reason == amqp.ReasonParty && d.DeliveredAt.IsZero() {
		return false
	}
	return area.Admin || d.SubscriptionID == "" || d.Status == store.DeliveryDelivered || !d.DeliveredAt.IsZero() || at.Subscription.Accepting
}

// withheld says why the event of a delivery is not shown.
func (at DeliveryContext) withheld(ctx context.Context) string {
	if at.Delivery.Reason == amqp.ReasonParty {
		return i18n.T(ctx, "deliveries.page.other-party")
	}
	return i18n.T(ctx, "deliveries.page.withheld")
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
	v := view.DeliveryView{Self: area.Delivery(d.ID), State: site.DeliveryState(d.Status, d.Reason), Text: site.DetailText(ctx, area.Admin, d.Reason, d.Detail), Now: now}
	v.Headline = i18n.Of(ctx, "ui.state", v.State)
	switch d.Status {
	case store.DeliveryPending, store.DeliveryRetrying:
		if v.Wait = at.WaitsFor(ctx, now); v.Wait == "" {
			v.Due = d.DueAt.Time
		}
		if d.LeaseOwner != "" {
			v.Wait, v.Due = i18n.T(ctx, "deliveries.page.sending"), time.Time{}
		}
	case store.DeliveryDelivered:
		v.Text = i18n.T(ctx, "deliveries.page.delivered")
		if d.LastStatus != 0 {
			v.Text = i18n.T(ctx, "deliveries.page.delivered-answer", strconv.FormatInt(d.LastStatus, 10))
		}
	case store.DeliveryDiscarded:
		if d.Reason != store.ReasonEventExpired {
			v.Headline, v.Text = i18n.T(ctx, "deliveries.page.discarded"), i18n.T(ctx, "deliveries.page.discarded-reason", d.Detail)
		}
	}
	if d.Reason != "" && (d.Status != store.DeliveryDiscarded || d.Reason == store.ReasonEventExpired) {
		words := site.ReasonOf(d.Reason)
		v.Headline = i18n.T(ctx, "deliveries.page.headline", v.Headline, words.Label)
		switch {
		case !area.Admin && (site.AMQPReason(d.Reason) || d.Detail == "" && d.Cause != ""):
			v.Text = strings.TrimSpace(v.Text + " " + registry.IssueAdvice(cmp.Or(d.Cause, d.Reason), false).In(ctx))
		case d.Detail == "":
			v.Text = words.Remedy.In(ctx)
		}
	}
	v.ResendLabel = site.ResendLabel(ctx, d)
	if d.Status == store.DeliveryDelivered {
		v.ResendLabel = i18n.T(ctx, "deliveries.resend")
	}
	if at.sentForGood != "" && v.ResendLabel != "" {
		v.ResendLabel, v.Wait = "", at.sentForGood.In(ctx)
	}
	if v.ResendLabel != "" && at.maySend() {
		v.Resend = v.Self + "/resend"
		if warning := resendWarning(ctx, at.Endpoint, now); warning != "" && d.Status != store.DeliveryRetrying { // there it says already what it waits for
			v.Warnings = []string{warning}
		}
	} else if v.ResendLabel != "" && d.Status != store.DeliveryDelivered && !slices.Contains(site.StoppedReasons(), d.Reason) {
		v.Wait = i18n.T(ctx, "deliveries.page.resend-later")
		if stop := outbox.SubscriptionStop(at.Subscription); d.SubscriptionID != "" && at.Subscription.ID != "" && stop != "" {
			v.Wait = (stoppedSubscription{d.SubscriptionID, stop, at.Subscription}).warning(ctx)
		}
	}
	return v
}

// WaitsFor explains why an open delivery is not tried yet; "" when only time stands between.
func (at DeliveryContext) WaitsFor(ctx context.Context, now time.Time) string {
	ep := at.Endpoint
	switch {
	case ep.Status == store.EndpointPaused:
		return i18n.T(ctx, "deliveries.wait.paused")
	case ep.Status == store.EndpointSuspended:
		return i18n.T(ctx, "deliveries.wait.suspended")
	case !at.maySend():
		return at.stopText(ctx)
	case at.Delivery.SubscriptionID != "" && site.OpensText(ctx, ep, now) != "":
		return i18n.T(ctx, "deliveries.wait.key", site.OpensText(ctx, ep, now))
	case ep.Circuit == store.CircuitOpen:
		return i18n.T(ctx, "deliveries.wait.circuit", ep.CircuitProbeAt.Time)
	case ep.Circuit == store.CircuitHalfOpen:
		return i18n.T(ctx, "deliveries.wait.probe")
	case ep.WaitsAt(now):
		return i18n.T(ctx, "deliveries.wait.retry-after", ep.WaitUntil.Time)
	}
	return ""
}

// deliveryFacts are the properties of a delivery.
func deliveryFacts(ctx context.Context, area site.DeliveryArea, at DeliveryContext, now time.Time) []ui.Item {
	d := at.Delivery
	items := []ui.Item{
		{Label: i18n.T(ctx, "deliveries.state-label"), Content: ui.State(site.DeliveryState(d.Status, d.Reason))},
		{Label: i18n.T(ctx, "deliveries.facts.id"), Content: ui.Identifier(d.ID)},
	}
	if area.Admin {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.event"), Content: ui.Link(d.EventID, "/admin/events/"+d.EventID)},
			ui.Item{Label: i18n.T(ctx, "deliveries.partner"), Content: ui.Link(cmp.Or(at.Partner.Name, d.PartnerID), "/admin/partners/"+d.PartnerID)})
	}
	items = append(items, ui.Item{
		Label: i18n.T(ctx, "deliveries.endpoint"), Content: ui.Link(cmp.Or(at.Endpoint.Name, d.EndpointID), area.Base+"/endpoints/"+d.EndpointID),
	})
	items = append(items, subscriptionItem(ctx, area, at))
	if at.Subscription.Encrypt != "" {
		items = append(items, ui.Item{Label: i18n.T(ctx, "partners.encrypt.title"), Text: site.EncryptionWords(ctx, at.Subscription)})
	}
	items = append(items,
		ui.Item{Label: i18n.T(ctx, "deliveries.facts.attempts"), Text: attemptsText(ctx, d)},
		ui.Item{Label: createdLabel(ctx, at), Content: ui.Clock(d.CreatedAt.Time, now)},
		ui.Item{Label: i18n.T(ctx, "deliveries.facts.changed"), Content: ui.Clock(d.UpdatedAt.Time, now)})
	if d.ReplayOf != "" {
		items = append(items, jobItem(ctx, area, at))
	}
	if !d.ExpiresAt.IsZero() {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.facts.expires"), Content: ui.Clock(d.ExpiresAt.Time, now)})
	}
	if !d.DeliveredAt.IsZero() {
		items = append(items, ui.Item{Label: i18n.T(ctx, "deliveries.facts.delivered"), Content: ui.Clock(d.DeliveredAt.Time, now)})
	}
	return append(items,
		ui.Item{Label: "Idempotency-Key", Content: ui.Identifier(d.IdempotencyKey)},
		ui.Item{Label: i18n.T(ctx, "deliveries.facts.key-until"), Content: ui.Clock(d.KeyExpiresAt.Time, now)})
}

// createdLabel names what made a delivery: the event was accepted, or it was replayed later.
func createdLabel(ctx context.Context, at DeliveryContext) string {
	if at.Delivery.ReplayOf != "" && at.jobAction != outbox.ActionResend {
		return i18n.T(ctx, "deliveries.facts.made")
	}
	return i18n.T(ctx, "deliveries.facts.accepted")
}

// jobItem names the job that resent a delivery, or replayed its event. Partners see their own jobs.
func jobItem(ctx context.Context, area site.DeliveryArea, at DeliveryContext) ui.Item {
	id, label := at.Delivery.ReplayOf, i18n.T(ctx, "deliveries.facts.again-by-job") // a job that is not stored any more may have been either
	switch at.jobAction {
	case outbox.ActionResend:
		label = i18n.T(ctx, "deliveries.facts.resent-by-job")
	case outbox.ActionReplay:
		label = i18n.T(ctx, "deliveries.facts.replayed-by-job")
	}
	if area.Admin {
		return ui.Item{Label: label, Content: ui.Link(id, area.Job(id))}
	}
	return ui.Item{Label: label, Content: ui.Identifier(id)}
}

func subscriptionItem(ctx context.Context, area site.DeliveryArea, at DeliveryContext) ui.Item {
	id := at.Delivery.SubscriptionID
	if id == "" {
		return ui.Item{Label: i18n.T(ctx, "deliveries.subscription"), Text: i18n.T(ctx, "deliveries.facts.no-subscription")}
	}
	return ui.Item{Label: i18n.T(ctx, "deliveries.subscription"), Content: ui.Link(cmp.Or(at.Subscription.Name, id), area.Base+"/subscriptions/"+id)}
}

func attemptsText(ctx context.Context, d store.Delivery) string {
	if d.Round < d.Attempts {
		return i18n.T(ctx, "deliveries.facts.attempts-since", d.Attempts, d.Round)
	}
	return i18n.Count(ctx, int(d.Attempts))
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

// attemptView shows one attempt. The place names it on the page: after a crash two
// attempts can have the same number.
func attemptView(ctx context.Context, a store.Attempt, place int) view.AttemptView {
	if title := receiveTitle(ctx, a); title != "" {
		return receiveView(ctx, a, place, title)
	}
	v := view.AttemptView{
		Number: place, At: a.StartedAt.Time, OK: a.StatusCode >= 200 && a.StatusCode < 300,
		Title: attemptTitle(ctx, a), Next: a.NextAt.Time, URL: a.URL, Answered: a.StatusCode != 0,
	}
	texts := attemptText(ctx, a)
	v.Text = sentences(texts[0], texts[1:]...).In(ctx)
	if a.URL != "" || a.RequestHeaders != "" {
		v.Sent = strings.TrimSpace("POST "+site.Shown(SafeURL(a.URL))) + "\n" + HeaderLines(ctx, a.RequestHeaders)
	}
	if v.Answered {
		v.Headers = statusLine(a.StatusCode) + "\n" + HeaderLines(ctx, a.ResponseHeaders)
		v.Body, v.BodyCut = site.Readable(a.ResponseBody, site.MaxShownValue)
		if a.Unread != nil {
			v.Body = site.UnreadText(ctx, a.Unread)
		}
	}
	return v
}

func attemptTitle(ctx context.Context, a store.Attempt) string {
	if a.StatusCode != 0 {
		return i18n.T(ctx, "deliveries.attempts.answered", a.Number, statusLine(a.StatusCode))
	}
	return i18n.T(ctx, "deliveries.attempts.failed", a.Number, site.FailureKind(ctx, a.ErrorKind))
}

// attemptText gives the duration of an attempt, and the stored description of its failure.
func attemptText(ctx context.Context, a store.Attempt) []i18n.Message {
	texts := []i18n.Message{"deliveries.attempts.took-less"}
	if d := time.Duration(a.DurationUS) * time.Microsecond; d >= time.Millisecond {
		texts[0] = i18n.M("deliveries.attempts.took", i18n.Duration(ctx, d))
	}
	if a.Error != "" {
		texts = append(texts, i18n.Raw(site.Shown(i18n.Message(a.Error).In(ctx))))
	}
	return texts
}

func statusLine(status int64) string {
	return strings.TrimSpace(strconv.FormatInt(status, 10) + " " + http.StatusText(int(status)))
}

// HeaderLines writes stored headers a line each, by name.
func HeaderLines(ctx context.Context, stored string) string {
	if stored == "" {
		return ""
	}
	var header http.Header
	if err := json.Unmarshal([]byte(stored), &header); err != nil {
		return i18n.T(ctx, "deliveries.attempts.headers-unreadable")
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
