package site

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// MaxFilterText bounds what is taken of one filter field, in bytes.
const MaxFilterText = 1000

// FilterText takes what a filter field holds, as far as it is text.
func FilterText(typed string) string {
	typed = Clean(typed)
	return strings.ToValidUTF8(typed[:min(len(typed), MaxFilterText)], "")
}

// Which held deliveries a list shows: in the error queue those that were refused unless the reader asks for others, elsewhere all of them.
const (
	ShowRefused  = ""
	ShowStopped  = "stopped"
	ShowHeld     = "held"
	ShowRejected = "rejected" // outside the error queue: those that were refused
)

// DeliveryQuery is the filter of a list of deliveries as it was typed.
type DeliveryQuery struct {
	Partner, Endpoint, Subscription, EventType, Event, Subject, Reason, Cause, Status, Show, Zone, From, Until, Made, Job string
	Before                                                                                                                string // the delivery that the list begins behind; no part of the filter
}

// ReadDeliveryQuery reads a filter from a query string or a form.
func ReadDeliveryQuery(get func(name string) string) DeliveryQuery {
	read := func(name string) string { return FilterText(get(name)) }
	return DeliveryQuery{
		Partner: read("partner"), Endpoint: read("endpoint"), Subscription: read("subscription"), EventType: read("type"),
		Event: read("event"), Subject: read("subject"), Reason: read("kind"), Cause: read("cause"), Status: read("status"), Show: read("show"), Zone: read("zone"), From: read("from"), Until: read("until"), Made: read("made"), Job: read("job"),
		Before: read("before"),
	}
}

// Values are the fields that are filled in, under the names of the form.
func (q DeliveryQuery) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"partner": q.Partner, "endpoint": q.Endpoint, "subscription": q.Subscription, "type": q.EventType, "event": q.Event, "subject": q.Subject,
		"kind": q.Reason, "cause": q.Cause, "status": q.Status, "show": q.Show, "from": q.From, "until": q.Until, "made": q.Made, "job": q.Job,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Zone != "" && q.From+q.Until+q.Made != "" { // of the moments
		v.Set("zone", q.Zone)
	}
	return v
}

// Filter turns the query into what the store selects for a queue. What is wrong
// is told by field; the filter must not be used then, for it selects too much.
func (q DeliveryQuery) Filter(queue DeliveryQueue, partner string) (store.DeliveryFilter, FormErrors) {
	wrong := FormErrors{}
	f := store.DeliveryFilter{
		PartnerID: q.Partner, EndpointID: q.Endpoint, SubscriptionID: q.Subscription, EventType: q.EventType,
		Reason: q.Reason, Cause: q.Cause, Statuses: queue.Statuses, ReplayOf: q.Job,
	}
	if partner != "" {
		f.PartnerID = partner
	}
	f.Subject = q.Subject
	f.Find(q.Event)
	if q.Status != "" && len(queue.Statuses) == 0 {
		f.Statuses = []string{q.Status}
		if !slices.Contains(DeliveryStatuses(), q.Status) {
			wrong["status"] = "site.state-choose"
		}
	}
	q.narrow(queue, &f, wrong)
	f.From, f.Until = Period(q.Zone, q.From, q.Until, wrong)
	f.MadeFrom, _ = momentOrDay("made", q.Zone, q.Made, wrong)
	return f, wrong
}

// narrow selects among held deliveries.
func (q DeliveryQuery) narrow(queue DeliveryQueue, f *store.DeliveryFilter, wrong FormErrors) {
	switch {
	case queue.Errors && q.Show == ShowRefused, !queue.Errors && q.Show == ShowRejected:
		f.NotReasons = StoppedReasons()
	case q.Show == ShowStopped:
		f.Reasons, f.Stopped = StoppedReasons(), queue.Errors
	case q.Show == ShowHeld, q.Show == "":
	default:
		wrong["show"] = "site.show-choose"
	}
	if !queue.Errors && q.Show != "" && q.Status != store.DeliveryHeld {
		wrong["show"] = "site.show-held-only"
	}
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
		options = append(options, ui.Option{Value: value, Label: value})
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
			list = append(list, ui.FieldError{Field: f.ID, Text: i18n.M("ui.named-error", f.Label, f.Error)})
		}
	}
	return list
}

// KindWords describes the one kind of deliveries that a filter selects; empty for several.
func (q DeliveryQuery) KindWords(ctx context.Context, queue DeliveryQueue) string {
	switch {
	case q.Reason != "":
		return ReasonOf(q.Reason).Label.In(ctx)
	case queue.Errors && q.Show == ShowRefused, q.Show == ShowRejected:
		return i18n.T(ctx, "site.show-rejected")
	case q.Show == ShowStopped:
		return i18n.T(ctx, "site.show-stopped")
	}
	return ""
}

// DeliveryArea is whose pages about deliveries these are. An administrator sees
// everybody's; a partner sees its own, by the session alone (guarantee G7).
type DeliveryArea struct {
	Base  string // "/admin" or "/partner"
	Admin bool
}

// Scope is the partner that all look-ups are limited to; "" for an administrator.
func (a DeliveryArea) Scope(c echo.Context) string {
	if a.Admin {
		return ""
	}
	return PartnerID(c)
}

// PartnerOf is the partner whose names may be shown with a job; "" is everybody's.
func (a DeliveryArea) PartnerOf(j store.ResendJob) string {
	if a.Admin {
		return ""
	}
	return j.PartnerID
}

// Delivery gives the address of a delivery.
func (a DeliveryArea) Delivery(id string) string { return a.Base + "/deliveries/" + id }

// Job gives the address of a job.
func (a DeliveryArea) Job(id string) string { return a.Base + "/jobs/" + id }

// DeliveryQueue is one list of deliveries, with what it holds and what can be done there.
type DeliveryQueue struct {
	DeliveryArea
	Path                 string
	Title, Lead, Caption i18n.Message
	// Statuses limits the list; empty lets the reader choose.
	Statuses []string
	// Errors narrows held deliveries to what the receiver refused, and asks
	// whether to show the others too.
	Errors bool
	// Empty is the text of an empty list when nothing is filtered.
	Empty i18n.Message
}

// ErrorQueue describes the list of what was refused.
func ErrorQueue() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: AdministratorArea(), Path: "/admin/errors", Title: "site.error-queue", Caption: "site.error-queue-caption",
		Lead:     "site.error-queue-lead",
		Statuses: []string{store.DeliveryHeld}, Errors: true,
		Empty: "site.error-queue-empty",
	}
}

// DeadLetterQueue describes the list of what stopped being tried.
func DeadLetterQueue() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: AdministratorArea(), Path: "/admin/dead-letters", Title: "site.dead-letters", Caption: "site.dead-letters",
		Lead:     "site.dead-letters-lead",
		Statuses: []string{store.DeliveryDead},
		Empty:    "site.dead-letters-empty",
	}
}

// AllDeliveries describes the list of all deliveries.
func AllDeliveries() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: AdministratorArea(), Path: "/admin/deliveries", Title: "site.deliveries", Caption: "site.deliveries",
		Lead:  "site.deliveries-lead",
		Empty: "site.deliveries-empty",
	}
}

// OwnDeliveries describes the list of the deliveries of one partner.
func OwnDeliveries() DeliveryQueue {
	return DeliveryQueue{
		DeliveryArea: PartnerArea(), Path: "/partner/deliveries", Title: "site.deliveries", Caption: "site.own-deliveries-caption",
		Lead:  "site.own-deliveries-lead",
		Empty: "site.own-deliveries-empty",
	}
}

// TitleOf names the list that a filter makes of this one: that of a partner's menu is the error queue or the dead letters by its filter.
func (q DeliveryQueue) TitleOf(query DeliveryQuery) i18n.Message {
	switch {
	case len(q.Statuses) > 0:
		return q.Title
	case query.Status == store.DeliveryHeld && query.Show == ShowRejected:
		return "site.error-queue"
	case query.Status == store.DeliveryDead:
		return "site.dead-letters"
	}
	return q.Title
}

// AdministratorArea gives the addresses for administrators.
func AdministratorArea() DeliveryArea { return DeliveryArea{Base: "/admin", Admin: true} }

// PartnerArea gives the addresses for partners.
func PartnerArea() DeliveryArea { return DeliveryArea{Base: "/partner"} }

// Resendable are the states that "all that match" covers.
func (q DeliveryQueue) Resendable(chosen string) []string {
	switch {
	case len(q.Statuses) > 0:
		return q.Statuses
	case chosen != "":
		return []string{chosen}
	}
	return []string{store.DeliveryHeld, store.DeliveryDead}
}

// Troubled are the states in which a delivery of this list can have a kind of error.
func (q DeliveryQueue) Troubled() []string {
	if len(q.Statuses) > 0 {
		return q.Statuses
	}
	return []string{store.DeliveryRetrying, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded}
}

// Issue is the page of an issue.
func (a DeliveryArea) Issue(id string) string { return a.Base + "/issues/" + id }

// Batch is the page of a batch.
func (a DeliveryArea) Batch(id string) string { return a.Base + "/batches/" + id }
