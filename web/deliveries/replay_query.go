package deliveries

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/templates/ui"
	"schakel/web/site"
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
		v := site.Clean(get(name))
		return strings.ToValidUTF8(v[:min(len(v), most)], "")
	}
	return replayQuery{
		partner: read("partner", site.MaxFilterText), endpoint: read("endpoint", site.MaxFilterText), subscription: read("subscription", site.MaxFilterText),
		mode: cmp.Or(read("mode", site.MaxFilterText), outbox.ReplayMissing), eventType: read("type", site.MaxFilterText), subject: read("subject", site.MaxFilterText),
		from: read("from", site.MaxFilterText), until: read("until", site.MaxFilterText), events: read("events", maxTypedIDsBytes),
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
func (q replayQuery) replay(area site.DeliveryArea) (outbox.Replay, site.FormErrors) {
	wrong := site.FormErrors{}
	r := outbox.Replay{Mode: q.mode, EndpointID: q.endpoint, Subject: q.subject, EventIDs: strings.Fields(q.events)}
	if area.Admin {
		r.PartnerID = q.partner
	}
	if q.subscription != "" {
		r.SubscriptionIDs = []string{q.subscription}
	}
	if q.eventType != "" {
		r.Types = []string{q.eventType}
	}
	r.From, r.Until = site.Period(q.from, q.until, wrong)
	if q.mode != outbox.ReplayMissing && q.mode != outbox.ReplayAll {
		wrong["mode"] = "Choose which events."
	}
	if area.Admin && r.PartnerID == "" && r.EndpointID == "" && len(r.SubscriptionIDs) == 0 {
		wrong["partner"] = "Choose a partner, or an endpoint."
	}
	if len(r.EventIDs) > maxTypedIDs {
		wrong["events"] = "At most " + ui.Count(maxTypedIDs) + " ids can be filled in here; the API takes more."
	}
	return r, wrong
}

// replayRefusal returns the field that an error of the engine belongs to; false when it is none of the form.
func replayRefusal(err error, q replayQuery) (site.FormErrors, bool) {
	field := "endpoint"
	if q.subscription != "" {
		field = "subscription"
	}
	if errors.Is(err, outbox.ErrTooManyEvents) {
		return site.FormErrors{"events": site.Sentence(outbox.ErrTooManyEvents)}, true
	}
	if errors.Is(err, store.ErrNotFound) {
		return site.FormErrors{field: "There is no such subscription."}, true
	}
	for _, known := range []error{outbox.ErrNothingSelected, outbox.ErrTooManySubscriptions, outbox.ErrNotApproved, outbox.ErrTooManyJobs} {
		if errors.Is(err, known) {
			return site.FormErrors{field: site.Sentence(known)}, true
		}
	}
	return nil, false
}

// replayWords describes a replay as it was chosen.
func (p *Pages) replayWords(ctx context.Context, r outbox.Replay, scope string) ([]ui.Item, error) {
	names := p.DeliveryNamesOf(scope)
	partner, err := names.Partner(ctx, r.PartnerID)
	if err != nil {
		return nil, err
	}
	endpoint, err := names.Endpoint(ctx, r.EndpointID)
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
