package web

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/ui"
)

// Bounds of the event ids typed in the portal; the API takes more.
const (
	maxTypedIDs      = 100
	maxTypedIDsBytes = 10_000
)

// replayQuery is a replay as it was chosen in the portal.
type replayQuery struct {
	partner, endpoint, subscription, mode, eventType, subject, from, until, events string
}

func readReplayQuery(get func(name string) string) replayQuery {
	read := func(name string, most int) string {
		v := clean(get(name))
		return strings.ToValidUTF8(v[:min(len(v), most)], "")
	}
	return replayQuery{
		partner: read("partner", maxFilterText), endpoint: read("endpoint", maxFilterText), subscription: read("subscription", maxFilterText),
		mode: orElse(read("mode", maxFilterText), outbox.ReplayMissing), eventType: read("type", maxFilterText), subject: read("subject", maxFilterText),
		from: read("from", maxFilterText), until: read("until", maxFilterText), events: read("events", maxTypedIDsBytes),
	}
}

// values are the fields that are filled in, under the names of the form.
func (q replayQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"partner": q.partner, "endpoint": q.endpoint, "subscription": q.subscription, "mode": q.mode, "type": q.eventType,
		"subject": q.subject, "from": q.from, "until": q.until, "events": q.events,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

func (q replayQuery) hidden() []ui.Hidden {
	var list []ui.Hidden
	for name, values := range q.values() {
		list = append(list, ui.Hidden{Name: name, Value: values[0]})
	}
	return list
}

// replay turns the query into what the engine selects; what is wrong is told by field.
func (q replayQuery) replay(area deliveryArea) (outbox.Replay, formErrors) {
	wrong := formErrors{}
	r := outbox.Replay{Mode: q.mode, EndpointID: q.endpoint, Subject: q.subject, EventIDs: strings.Fields(q.events)}
	if area.admin {
		r.PartnerID = q.partner
	}
	if q.subscription != "" {
		r.SubscriptionIDs = []string{q.subscription}
	}
	if q.eventType != "" {
		r.Types = []string{q.eventType}
	}
	r.From, r.Until = period(q.from, q.until, wrong)
	if q.mode != outbox.ReplayMissing && q.mode != outbox.ReplayAll {
		wrong["mode"] = "Choose which events."
	}
	if area.admin && r.PartnerID == "" && r.EndpointID == "" && len(r.SubscriptionIDs) == 0 {
		wrong["partner"] = "Choose a partner, or an endpoint."
	}
	if len(r.EventIDs) > maxTypedIDs {
		wrong["events"] = "At most " + ui.Count(maxTypedIDs) + " ids can be filled in here; the API takes more."
	}
	return r, wrong
}

// replayRefusal returns the field that an error of the engine belongs to; false when it is none of the form.
func replayRefusal(err error, q replayQuery) (formErrors, bool) {
	field := "endpoint"
	if q.subscription != "" {
		field = "subscription"
	}
	if errors.Is(err, outbox.ErrTooManyEvents) {
		return formErrors{"events": sentence(outbox.ErrTooManyEvents)}, true
	}
	if errors.Is(err, store.ErrNotFound) {
		return formErrors{field: "There is no such subscription."}, true
	}
	for _, known := range []error{outbox.ErrNothingSelected, outbox.ErrTooManySubscriptions, outbox.ErrNotApproved, outbox.ErrTooManyJobs} {
		if errors.Is(err, known) {
			return formErrors{field: sentence(known)}, true
		}
	}
	return nil, false
}

// replayWords describes a replay as it was chosen.
func (p *portal) replayWords(ctx context.Context, r outbox.Replay, scope string) ([]ui.Item, error) {
	names := p.deliveryNamesOf(scope)
	partner, err := names.partner(ctx, r.PartnerID)
	if err != nil {
		return nil, err
	}
	endpoint, err := names.endpoint(ctx, r.EndpointID)
	if err != nil {
		return nil, err
	}
	which := "what was never received"
	if r.Mode == outbox.ReplayAll {
		which = "everything, once more"
	}
	ids := ""
	if len(r.EventIDs) > 0 {
		ids = ui.Plural(len(r.EventIDs), "event", "events")
	}
	items := []ui.Item{{Label: "Which events", Text: which}}
	for _, item := range []ui.Item{
		{Label: "Partner", Text: partner},
		{Label: "Endpoint", Text: endpoint},
		{Label: "Subscription", Text: strings.Join(r.SubscriptionIDs, ", ")},
		{Label: "Event type", Text: strings.Join(r.Types, ", ")},
		{Label: "Subject", Text: r.Subject},
		{Label: "Accepted from", Text: moment(r.From)},
		{Label: "Accepted before", Text: moment(r.Until)},
		{Label: "Chosen by id", Text: ids},
	} {
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items, nil
}
