package outbox

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"schakel/store"
)

// afterwards are the states a subscription can go to from one.
var afterwards = map[string][]string{
	store.SubscriptionRequested: {store.SubscriptionApproved, store.SubscriptionApproved, store.SubscriptionRejected},
	store.SubscriptionApproved:  {store.SubscriptionPaused, store.SubscriptionSuspended, store.SubscriptionEnded},
	store.SubscriptionPaused:    {store.SubscriptionApproved, store.SubscriptionApproved, store.SubscriptionSuspended, store.SubscriptionEnded},
	store.SubscriptionSuspended: {store.SubscriptionApproved, store.SubscriptionApproved, store.SubscriptionEnded},
}

func (m *machine) subscription(rt *rapid.T) {
	s := m.now.subs[pick(rt, "subscription", m.subs)]
	next := afterwards[s.Status]
	if len(next) == 0 {
		return
	}
	m.setSubscription(s.ID, rapid.SampledFrom(next).Draw(rt, "state"))
}

func (m *machine) setSubscription(id, status string) {
	m.write(func(tx *store.Tx) error {
		s, err := tx.Subscription(m.ctx, id)
		s.Status, s.DecidedAt = status, tx.Now
		return errors.Join(err, tx.UpdateSubscription(m.ctx, &s))
	})
}

// request asks for one more subscription like one there is.
func (m *machine) request(rt *rapid.T) {
	if len(m.subs) >= 10 {
		return
	}
	like := m.now.subs[pick(rt, "like", m.subs)]
	m.subscribe(store.Subscription{
		PartnerID: like.PartnerID, EndpointID: like.EndpointID, OrderBy: like.OrderBy, Dedupe: like.Dedupe,
		Types: []string{rapid.SampledFrom([]string{"nl.a", "nl.b"}).Draw(rt, "type")}, Status: store.SubscriptionRequested,
	})
}

func (m *machine) endpointState(rt *rapid.T) {
	id := m.anyHook(rt)
	status := rapid.SampledFrom([]string{
		store.EndpointActive, store.EndpointActive, store.EndpointActive, store.EndpointPaused, store.EndpointSuspended, store.EndpointEnded,
	}).Draw(rt, "state")
	m.setEndpoint(id, status)
}

func (m *machine) setEndpoint(id, status string) {
	if m.now.endpoints[id].Status == store.EndpointEnded {
		return
	}
	m.write(func(tx *store.Tx) error {
		e, err := tx.Endpoint(m.ctx, id)
		e.Status = status
		return errors.Join(err, tx.UpdateEndpoint(m.ctx, &e))
	})
}

func (m *machine) partnerState(rt *rapid.T) {
	id := pick(rt, "partner", m.partners)
	m.setPartner(id, rapid.SampledFrom([]string{store.PartnerApproved, store.PartnerApproved, store.PartnerSuspended}).Draw(rt, "state"))
}

func (m *machine) setPartner(id, status string) {
	m.write(func(tx *store.Tx) error {
		p, err := tx.Partner(m.ctx, id)
		p.Status = status
		return errors.Join(err, tx.UpdatePartner(m.ctx, &p))
	})
}

// route allows something to pass from one partner to another, or no more.
func (m *machine) route(rt *rapid.T) {
	r := store.Route{
		FromPartnerID: pick(rt, "from", m.partners[:2]), ToPartnerID: pick(rt, "to", m.partners),
		EventType: rapid.SampledFrom([]string{"nl.a", "nl.b"}).Draw(rt, "type"),
	}
	there := slices.IndexFunc(m.now.routes, func(o store.Route) bool {
		return o.FromPartnerID == r.FromPartnerID && o.ToPartnerID == r.ToPartnerID && o.EventType == r.EventType
	})
	m.write(func(tx *store.Tx) error {
		if there >= 0 {
			return tx.DeleteRoute(m.ctx, m.now.routes[there].ID)
		}
		return tx.InsertRoute(m.ctx, &r)
	})
}

// person resends or discards one delivery, whatever state it is in.
func (m *machine) person(rt *rapid.T) {
	if len(m.now.list) == 0 {
		return
	}
	d := pick(rt, "delivery", m.now.list)
	m.decide(rt, m.anyNode(rt), d)
}

func (m *machine) decide(rt *rapid.T, n *node, d store.Delivery) {
	if rapid.IntRange(0, 3).Draw(rt, "discard") == 0 {
		err := n.eng.Discard(m.ctx, anna(), d.ID, "done by hand")
		closed := d.Status == store.DeliveryHeld || d.Status == store.DeliveryDead
		if closed != (err == nil) || err != nil && !errors.Is(err, ErrNotDiscardable) {
			m.Fatalf("discard of a delivery that is %s: %v", d.Status, err)
		}
		return
	}
	err := n.eng.Resend(m.ctx, anna(), d.ID)
	may := m.now.sending(m.now.subs[d.SubscriptionID]) && !isOpen(d) && d.Status != store.DeliveryDiscarded ||
		d.Status == store.DeliveryRetrying && d.LeaseOwner == ""
	if may != (err == nil) || err != nil && !errors.Is(err, ErrNotResendable) {
		m.Fatalf("resend of a delivery that is %s: %v", d.Status, err)
	}
}

func (m *machine) bulk(rt *rapid.T) {
	f := store.DeliveryFilter{EndpointID: m.anyHook(rt)}
	action := rapid.SampledFrom([]string{ActionResend, ActionResend, ActionDiscard}).Draw(rt, "action")
	if action == ActionDiscard {
		f.Statuses = []string{store.DeliveryDead}
	}
	_, err := m.anyNode(rt).eng.StartJob(m.ctx, anna(), action, f, "by hand")
	m.must(err)
}

func (m *machine) replays(rt *rapid.T) {
	r := Replay{Mode: rapid.SampledFrom([]string{ReplayMissing, ReplayMissing, ReplayAll}).Draw(rt, "mode")}
	actor := anna()
	switch rapid.IntRange(0, 3).Draw(rt, "whose") {
	case 0:
		r.SubscriptionIDs = []string{pick(rt, "subscription", m.subs)}
	case 1:
		actor.PartnerID = pick(rt, "partner", m.partners)
	}
	_, err := m.anyNode(rt).eng.StartReplay(m.ctx, actor, r)
	if err != nil && !errors.Is(err, ErrNothingSelected) && !errors.Is(err, ErrNotApproved) {
		m.Fatalf("replay: %v", err)
	}
}
