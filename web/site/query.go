package web

import (
	"net/url"
	"slices"
	"strings"

	"schakel/store"
)

// maxFilterText bounds what is taken of one filter field, in bytes.
const maxFilterText = 1000

// Which held deliveries the error queue shows.
const (
	showRefused = ""
	showStopped = "stopped"
	showHeld    = "held"
)

// deliveryQuery is the filter of a list of deliveries as it was typed.
type deliveryQuery struct {
	partner, endpoint, subscription, eventType, event, subject, reason, status, show, from, until, made, job string
	before                                                                                                   string // the delivery that the list begins behind; no part of the filter
}

// readDeliveryQuery reads a filter from a query string or a form.
func readDeliveryQuery(get func(name string) string) deliveryQuery {
	read := func(name string) string {
		v := clean(get(name))
		return strings.ToValidUTF8(v[:min(len(v), maxFilterText)], "")
	}
	return deliveryQuery{
		partner: read("partner"), endpoint: read("endpoint"), subscription: read("subscription"), eventType: read("type"),
		event: read("event"), subject: read("subject"), reason: read("kind"), status: read("status"), show: read("show"), from: read("from"), until: read("until"), made: read("made"), job: read("job"),
		before: read("before"),
	}
}

// values are the fields that are filled in, under the names of the form.
func (q deliveryQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"partner": q.partner, "endpoint": q.endpoint, "subscription": q.subscription, "type": q.eventType, "event": q.event, "subject": q.subject,
		"kind": q.reason, "status": q.status, "show": q.show, "from": q.from, "until": q.until, "made": q.made, "job": q.job,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// filter turns the query into what the store selects for a queue. What is wrong
// is told by field; the filter must not be used then, for it selects too much.
func (q deliveryQuery) filter(queue deliveryQueue, partner string) (store.DeliveryFilter, formErrors) {
	wrong := formErrors{}
	f := store.DeliveryFilter{
		PartnerID: q.partner, EndpointID: q.endpoint, SubscriptionID: q.subscription, EventType: q.eventType,
		Reason: q.reason, Statuses: queue.statuses, ReplayOf: q.job,
	}
	if partner != "" {
		f.PartnerID = partner
	}
	f.Subject = q.subject
	switch {
	case strings.HasPrefix(q.event, "dlv_"):
		f.IDs = []string{q.event}
	case strings.HasPrefix(q.event, "evt_"):
		f.EventID = q.event
	default:
		f.CEID = q.event
	}
	if q.status != "" && len(queue.statuses) == 0 {
		f.Statuses = []string{q.status}
		if !slices.Contains(deliveryStatuses(), q.status) {
			wrong["status"] = "Choose a state from the list."
		}
	}
	if queue.errors {
		f.Reasons, f.Stopped = q.shown(wrong), q.show == showStopped
	}
	f.From, f.Until = period(q.from, q.until, wrong)
	f.MadeFrom, _ = momentOrDay("made", q.made, wrong)
	return f, wrong
}

// shown are the reasons that the error queue narrows to; none for everything held.
func (q deliveryQuery) shown(wrong formErrors) []string {
	switch q.show {
	case showRefused:
		return errorQueueReasons()
	case showStopped:
		return stoppedReasons()
	case showHeld:
		return nil
	}
	wrong["show"] = "Choose from the list what to show."
	return errorQueueReasons()
}

func deliveryStatuses() []string {
	return []string{
		store.DeliveryPending, store.DeliveryRetrying, store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded,
	}
}
