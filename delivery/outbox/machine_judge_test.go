package outbox

import (
	"slices"
	"strings"
	"time"

	"schakel/store"
)

// arrows are the transitions of a delivery between its states, as the package comment draws them.
var arrows = map[string][]string{
	store.DeliveryPending:   {store.DeliveryDelivered, store.DeliveryRetrying, store.DeliveryHeld, store.DeliveryDead},
	store.DeliveryRetrying:  {store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead},
	store.DeliveryHeld:      {store.DeliveryPending, store.DeliveryDelivered, store.DeliveryDiscarded},
	store.DeliveryDead:      {store.DeliveryPending, store.DeliveryDelivered, store.DeliveryDiscarded},
	store.DeliveryDelivered: {store.DeliveryPending},
}

// judge checks what a step changed.
func (m *machine) judge(before, after *view) {
	for _, old := range before.list {
		d, there := after.deliveries[old.ID]
		switch {
		case !there:
			m.vanished(old)
		case d.Status != old.Status:
			m.moved(before, old, d)
		}
		if there {
			m.sameKey(old, d)
		}
	}
	for _, d := range after.list {
		if _, there := before.deliveries[d.ID]; !there {
			m.appeared(before, after, d)
		}
		m.sound(d)
	}
	if wrong := after.inLine(); wrong != "" {
		m.Fatalf("G5: %s: delivery %s has a wrong place in its order", m.doing, wrong)
	}
	m.nothingLost()
	if m.toDeliver != 0 {
		m.Fatalf("%s: %d acknowledgements more than deliveries", m.doing, m.toDeliver)
	}
}

func (m *machine) vanished(old store.Delivery) {
	if m.doing != "retention" || old.Status != store.DeliveryDelivered && old.Status != store.DeliveryDiscarded {
		m.Fatalf("G1: %s: delivery %s that was %s is gone", m.doing, old.ID, old.Status)
	}
}

// byPerson reports whether the step is a person's, or the engine's for one.
func (m *machine) byPerson() bool { return m.doing == "person" || m.doing == "jobs" }

func (m *machine) moved(before *view, old, d store.Delivery) {
	ok := slices.Contains(arrows[old.Status], d.Status)
	switch {
	case d.Status == store.DeliveryDiscarded:
		ok = ok && m.byPerson()
	case d.Status == store.DeliveryDelivered && before.endpoints[d.EndpointID].Kind == store.EndpointPull:
		m.toDeliver--
	case d.Status == store.DeliveryDelivered:
		ok = ok && m.transport.took[d.ID]
	case d.Status == store.DeliveryPending:
		ok = ok && (m.byPerson() || m.released(before, old))
	}
	if !ok {
		m.Fatalf("%s: delivery %s went from %s (%s) to %s (%s)", m.doing, d.ID, old.Status, old.Reason, d.Status, d.Reason)
	}
}

// released reports whether the cause that held a delivery has ended.
func (m *machine) released(before *view, old store.Delivery) bool {
	sub := before.subs[old.SubscriptionID]
	held := slices.Contains([]string{store.ReasonSubscriptionPaused, store.ReasonSubscriptionSuspended, store.ReasonEndpointSuspended}, old.Reason)
	return old.Status == store.DeliveryHeld && held && before.sending(sub) && before.endpoints[old.EndpointID].Status == store.EndpointActive
}

// sameKey checks that a delivery keeps its Idempotency-Key, but where a person or a batch gives it another.
func (m *machine) sameKey(old, d store.Delivery) {
	resent := m.byPerson() && d.Status == store.DeliveryPending && !isOpen(old)
	if resent && old.BatchID != "" && old.IdempotencyKey == d.IdempotencyKey {
		m.Fatalf("IDEM-11: %s: %s was sent in a batch and is resent alone under the key of that", m.doing, d.ID)
	}
	if resent && old.BatchID == "" {
		if spent := keySpent(old, m.clock.Now()); spent == (old.IdempotencyKey == d.IdempotencyKey) {
			m.Fatalf("IDEM-13: %s: %s was resent after %d with key %s, before it was %s", m.doing, d.ID, old.LastStatus, d.IdempotencyKey, old.IdempotencyKey)
		}
	}
	if resent {
		m.transport.rekeyed[d.ID] = true
	}
	if old.IdempotencyKey != d.IdempotencyKey && !resent && old.BatchID == d.BatchID {
		m.Fatalf("IDEM-09: %s: %s has another key than before", m.doing, d.ID)
	}
}

// keySpent reports whether a resend needs a new key: the receiver gave an answer that it would give again, or the key is over.
func keySpent(d store.Delivery, now time.Time) bool {
	again := d.LastStatus == 0 || d.LastStatus >= 500 || slices.Contains([]int64{401, 403, 408, 409, 425, 429}, d.LastStatus)
	return !again || d.KeyExpiresAt.Before(now.Add(time.Minute))
}

// appeared checks a new delivery: it is of an accepted event, for a subscription that was to get it.
func (m *machine) appeared(before, after *view, d store.Delivery) {
	e, sub := m.events[d.EventID], before.subs[d.SubscriptionID]
	name := d.EventID + " " + d.SubscriptionID
	switch {
	case e == nil:
		m.Fatalf("%s: delivery %s of an event nobody knows of", m.doing, d.ID)
	case d.Status != store.DeliveryPending || d.PartnerID != sub.PartnerID || d.EndpointID != sub.EndpointID:
		m.Fatalf("%s: new delivery %+v", m.doing, d)
	case d.ReplayOf == "" && (m.got[name] || !slices.Contains(e.want, d.SubscriptionID)):
		m.Fatalf("G2, G3, G4: %s: delivery %s of %s to %s, wanted at %v", m.doing, d.ID, e.identity, d.SubscriptionID, e.want)
	case d.ReplayOf != "" && (m.doing != "jobs" || !m.wants(before, sub, e) || sub.Status != store.SubscriptionApproved):
		m.Fatalf("G2, G3: %s: %s was replayed to %s, which may not get it", m.doing, e.identity, d.SubscriptionID)
	}
	m.got[name] = true
	if sub.Dedupe && d.ReplayOf != "" {
		if _, there := m.handed[sub.ID+" "+e.source]; !there {
			m.handed[sub.ID+" "+e.source] = m.clock.Now()
		}
	}
	for _, o := range after.list {
		if o.SubscriptionID == d.SubscriptionID && d.ReplayOf == "" && o.ReplayOf == "" && (o.ID < d.ID) != (o.EventID < d.EventID) && o.ID != d.ID {
			m.Fatalf("G5: deliveries %s and %s are not in the order of their events", o.ID, d.ID)
		}
	}
}

// sound checks what holds of a delivery at any time.
func (m *machine) sound(d store.Delivery) {
	pulled := strings.HasPrefix(d.LeaseOwner, "lck")
	var ok bool
	switch {
	case isOpen(d):
		ok = !d.DueAt.IsZero() && (d.LeaseOwner == "" || pulled || m.ever[d.LeaseOwner])
		if d.LeaseOwner != "" && !pulled && !m.alive(d.LeaseOwner) {
			// Nobody can end the lease of a dead node but time; where one process works, its start does.
			ok = ok && m.db.Dialect() == store.Postgres && d.DueAt.Before(m.clock.Now().Add(time.Minute))
		}
	default:
		ok = d.DueAt.IsZero() && (d.LeaseOwner == "" || pulled && d.Status == store.DeliveryDelivered)
		ok = ok && (d.Reason != "" || d.Status == store.DeliveryDelivered)
	}
	if !ok || d.Round > d.Attempts {
		m.Fatalf("%s: delivery %+v", m.doing, d)
	}
}

func (m *machine) alive(name string) bool {
	return slices.ContainsFunc(m.nodes, func(n *node) bool { return n.eng.node == name })
}

// nothingLost checks that each accepted event has its deliveries (guarantee G1).
func (m *machine) nothingLost() {
	for id, e := range m.events {
		for _, sub := range e.want {
			if !m.got[id+" "+sub] {
				m.Fatalf("G1: %s: event %s has no delivery for %s", m.doing, e.identity, sub)
			}
		}
	}
}
