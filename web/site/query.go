package site

import (
	"net/url"
	"slices"
	"strings"

	"schakel/store"
	"schakel/templates/ui"
)

// MaxFilterText bounds what is taken of one filter field, in bytes.
const MaxFilterText = 1000

// Which held deliveries the error queue shows.
const (
	ShowRefused = ""
	ShowStopped = "stopped"
	ShowHeld    = "held"
)

// DeliveryQuery is the filter of a list of deliveries as it was typed.
type DeliveryQuery struct {
	Partner, Endpoint, Subscription, EventType, Event, Subject, Reason, Status, Show, From, Until, Made, Job string
	Before                                                                                                   string // the delivery that the list begins behind; no part of the filter
}

// ReadDeliveryQuery reads a filter from a query string or a form.
func ReadDeliveryQuery(get func(name string) string) DeliveryQuery {
	read := func(name string) string {
		v := Clean(get(name))
		return strings.ToValidUTF8(v[:min(len(v), MaxFilterText)], "")
	}
	return DeliveryQuery{
		Partner: read("partner"), Endpoint: read("endpoint"), Subscription: read("subscription"), EventType: read("type"),
		Event: read("event"), Subject: read("subject"), Reason: read("kind"), Status: read("status"), Show: read("show"), From: read("from"), Until: read("until"), Made: read("made"), Job: read("job"),
		Before: read("before"),
	}
}

// Values are the fields that are filled in, under the names of the form.
func (q DeliveryQuery) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"partner": q.Partner, "endpoint": q.Endpoint, "subscription": q.Subscription, "type": q.EventType, "event": q.Event, "subject": q.Subject,
		"kind": q.Reason, "status": q.Status, "show": q.Show, "from": q.From, "until": q.Until, "made": q.Made, "job": q.Job,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// Filter turns the query into what the store selects for a queue. What is wrong
// is told by field; the filter must not be used then, for it selects too much.
func (q DeliveryQuery) Filter(queue DeliveryQueue, partner string) (store.DeliveryFilter, FormErrors) {
	wrong := FormErrors{}
	f := store.DeliveryFilter{
		PartnerID: q.Partner, EndpointID: q.Endpoint, SubscriptionID: q.Subscription, EventType: q.EventType,
		Reason: q.Reason, Statuses: queue.Statuses, ReplayOf: q.Job,
	}
	if partner != "" {
		f.PartnerID = partner
	}
	f.Subject = q.Subject
	switch {
	case strings.HasPrefix(q.Event, "dlv_"):
		f.IDs = []string{q.Event}
	case strings.HasPrefix(q.Event, "evt_"):
		f.EventID = q.Event
	default:
		f.CEID = q.Event
	}
	if q.Status != "" && len(queue.Statuses) == 0 {
		f.Statuses = []string{q.Status}
		if !slices.Contains(DeliveryStatuses(), q.Status) {
			wrong["status"] = "Choose a state from the list."
		}
	}
	if queue.Errors {
		f.Reasons, f.Stopped = q.shown(wrong), q.Show == ShowStopped
	}
	f.From, f.Until = Period(q.From, q.Until, wrong)
	f.MadeFrom, _ = momentOrDay("made", q.Made, wrong)
	return f, wrong
}

// shown are the reasons that the error queue narrows to; none for everything held.
func (q DeliveryQuery) shown(wrong FormErrors) []string {
	switch q.Show {
	case ShowRefused:
		return ErrorQueueReasons()
	case ShowStopped:
		return StoppedReasons()
	case ShowHeld:
		return nil
	}
	wrong["show"] = "Choose from the list what to show."
	return ErrorQueueReasons()
}

// DeliveryStatuses lists the states of a delivery that a list can be filtered by.
func DeliveryStatuses() []string {
	return []string{
		store.DeliveryPending, store.DeliveryRetrying, store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded,
	}
}

// ChoiceField is a list to choose from. A value that is not in it is added, so
// that the page does not show another filter than the one it used.
func ChoiceField(name, label, value string, options []ui.Option) ui.Field {
	if !slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		text := value
		if name == "kind" {
			text = ReasonOf(value).Label
		}
		options = append(options, ui.Option{Value: value, Label: text})
	}
	return ui.Field{Name: name, Label: label, Value: value, Options: options}
}

// WithErrors puts what is wrong beside each field. Ids are set apart from those of other controls.
func WithErrors(fields []ui.Field, wrong FormErrors) []ui.Field {
	for i := range fields {
		fields[i].ID = "filter-" + fields[i].Name
		fields[i].Error = wrong[fields[i].Name]
	}
	return fields
}

// FieldErrors lists what is wrong with fields, in their order.
func FieldErrors(fields []ui.Field) []ui.FieldError {
	var list []ui.FieldError
	for _, f := range fields {
		if f.Error != "" {
			list = append(list, ui.FieldError{Field: f.ID, Text: f.Label + ": " + f.Error})
		}
	}
	return list
}

// KindWords describes the one kind of deliveries that a filter selects; empty for several.
func (q DeliveryQuery) KindWords(queue DeliveryQueue) string {
	switch {
	case q.Reason != "":
		return ReasonOf(q.Reason).Label
	case queue.Errors && q.Show == ShowRefused:
		return "Refused by the other side"
	case queue.Errors && q.Show == ShowStopped:
		return "Waiting for a stopped endpoint or subscription"
	}
	return ""
}
