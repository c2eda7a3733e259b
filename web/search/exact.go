package search

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"schakel/store"
	"schakel/templates/i18n"
	view "schakel/templates/search"
	"schakel/web/site"
)

// exact finds what has the question for its id, of whatever kind: an id of ours, the id that a producer gave an event, an id of an AMQP
// message, a delta, or a number of an organisation.
func (f *finder) exact(ctx context.Context) ([]view.Hit, error) {
	if !f.member() || strings.ContainsAny(f.text, " \t") {
		return nil, nil
	}
	hit, err := f.byOurID(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || hit.Href != "" {
		return []view.Hit{hit}, err
	}
	var hits []view.Hit
	for _, find := range []func(context.Context) ([]view.Hit, error){f.eventsNamed, f.messagesNamed, f.deltaNamed, f.organisationNumbered} {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	return hits, nil
}

// byOurID finds what has an id that this Schakel gave; without an Href the question is no such id.
func (f *finder) byOurID(ctx context.Context) (view.Hit, error) {
	prefix := store.KindOfID(f.text)
	if prefix == "" {
		return view.Hit{}, nil
	}
	id, base := f.text, f.area.Base
	var owner string
	var err error
	href := ""
	switch prefix {
	case "dlv":
		var d store.Delivery
		d, err = f.DB.Delivery(ctx, id)
		owner, href = d.PartnerID, f.area.Delivery(id)
	case "evt":
		return f.eventByID(ctx)
	case "sub":
		var s store.Subscription
		s, err = f.DB.Subscription(ctx, id)
		owner, href = s.PartnerID, base+"/subscriptions/"+id
	case "ept":
		var e store.Endpoint
		e, err = f.DB.Endpoint(ctx, id)
		owner, href = e.PartnerID, base+"/endpoints/"+id
	case "cli":
		var client store.Client
		client, err = f.DB.Client(ctx, id)
		owner, href = client.PartnerID, base+"/clients/"+id
	case "iss":
		var i store.Issue
		i, err = f.DB.Issue(ctx, id)
		owner, href = i.PartnerID, base+"/issues/"+id
	case "rsd":
		var j store.ResendJob
		j, err = f.DB.ResendJob(ctx, id)
		owner, href = j.PartnerID, f.area.Job(id)
	case "amm":
		var m store.AMQPMessage
		m, err = f.DB.AMQPMessage(ctx, id)
		owner, href = m.PartnerID, f.messages()+"/"+id
	case "ptn":
		var p store.Partner
		p, err = f.DB.Partner(ctx, id)
		owner, href = p.ID, "/admin/partners/"+id
		if !f.scope.All {
			href = "/partner/organisation"
		}
	case "qua":
		_, err = f.DB.Quarantine(ctx, id)
		href = "/admin/quarantine/" + id
	default:
		return view.Hit{}, store.ErrNotFound
	}
	if err == nil && !f.scope.Sees(owner) {
		err = store.ErrNotFound
	}
	return view.Hit{Title: id, Href: href}, err
}

// eventByID finds an event by our id. A partner sees its deliveries of it, not the event of somebody else.
func (f *finder) eventByID(ctx context.Context) (view.Hit, error) {
	if f.scope.All {
		_, err := f.DB.Event(ctx, f.text)
		return view.Hit{Title: f.text, Href: "/admin/events/" + f.text}, err
	}
	hits, err := f.deliveriesOf(ctx, store.DeliveryFilter{EventID: f.text})
	if err == nil && len(hits) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return view.Hit{}, err
	}
	if len(hits) == 1 {
		return hits[0], nil
	}
	return view.Hit{Title: f.text, Href: "/partner/deliveries?" + url.Values{"event": {f.text}}.Encode()}, nil
}

// eventsNamed finds events by the id that their producers gave them, their correlationid or an id of an AMQP message; for a partner its
// deliveries of those.
func (f *finder) eventsNamed(ctx context.Context) ([]view.Hit, error) {
	if !f.scope.All {
		return f.deliveriesOf(ctx, store.DeliveryFilter{CEID: f.text})
	}
	return f.events(ctx, store.EventFilter{CEID: f.text})
}

// events lists events for administrators.
func (f *finder) events(ctx context.Context, filter store.EventFilter) ([]view.Hit, error) {
	filter.Page = store.Page{Number: 1, Size: few + 1}
	rows, _, err := f.DB.Events(ctx, filter)
	hits := make([]view.Hit, len(rows))
	for i, e := range rows {
		hits[i] = view.Hit{
			Title: site.Shown(e.CEType) + " " + site.Shown(e.CEID), Href: "/admin/events/" + e.ID,
			Detail: joined(site.Shown(e.CESubject), site.Shown(e.CESource), i18n.Time(ctx, e.AcceptedAt.Time)),
		}
	}
	return hits, err
}

// deliveriesOf lists deliveries that the reader may see.
func (f *finder) deliveriesOf(ctx context.Context, filter store.DeliveryFilter) ([]view.Hit, error) {
	filter.PartnerID, filter.Page = f.owner(), store.Page{Number: 1, Size: few + 1}
	rows, _, err := f.DB.Deliveries(ctx, filter)
	if err != nil {
		return nil, err
	}
	names := f.DeliveryNamesOf(f.owner())
	hits := make([]view.Hit, len(rows))
	for i, d := range rows {
		endpoint, err := names.Endpoint(ctx, d.EndpointID)
		if err != nil {
			return nil, err
		}
		hits[i] = view.Hit{Title: d.EventType + " " + d.ID, Href: f.area.Delivery(d.ID), State: site.DeliveryState(d.Status, d.Reason), Detail: joined(endpoint, i18n.Time(ctx, d.UpdatedAt.Time))}
	}
	return hits, nil
}

func (f *finder) messages() string { return f.area.Base + "/amqp/messages" }

// messagesNamed finds AMQP messages by their messageId, MsgId, correlationId or ConversationId.
func (f *finder) messagesNamed(ctx context.Context) ([]view.Hit, error) {
	rows, _, err := f.DB.AMQPMessages(ctx, store.AMQPFilter{ID: f.text, PartnerID: f.owner(), Page: store.Page{Number: 1, Size: few + 1}})
	hits := make([]view.Hit, len(rows))
	for i, m := range rows {
		hits[i] = view.Hit{
			Title: i18n.T(ctx, "search.message", m.MessageID), Href: f.messages() + "/" + m.ID,
			Detail: joined(i18n.Of(ctx, "amqp.kind", m.Kind), i18n.Of(ctx, "amqp.state", m.Status), i18n.Time(ctx, m.CreatedAt.Time)),
		}
	}
	return hits, err
}

// deltaNamed finds a delta by its UUID: its dataset lists it. All partners see which datasets there are.
func (f *finder) deltaNamed(ctx context.Context) ([]view.Hit, error) {
	if len(f.text) != 36 {
		return nil, nil
	}
	d, err := f.DB.MutationDelta(ctx, strings.ToLower(f.text))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	href := f.area.Base + "/datasets/" + url.PathEscape(d.DatasetID)
	if f.scope.All {
		href += "/deltas"
	}
	return []view.Hit{{Title: i18n.T(ctx, "search.delta", d.Number, d.DatasetID), Href: href}}, err
}

// organisationNumbered finds a partner by its OIN, KvK number, organisasjonsnummer or HER-id.
func (f *finder) organisationNumbered(ctx context.Context) ([]view.Hit, error) {
	if !f.scope.All || strings.Trim(f.text, "0123456789") != "" {
		return nil, nil
	}
	return f.partners(ctx, store.PartnerFilter{Search: f.text})
}

// joined writes the parts that are there with a dot between them.
func joined(parts ...string) string {
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, " · ")
}
