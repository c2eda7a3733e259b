package outbox

import (
	"slices"
	"strings"

	"schakel/store"
)

// view is a reading of the database after a step.
type view struct {
	partners   map[string]string // states
	endpoints  map[string]store.Endpoint
	subs       map[string]store.Subscription
	routes     []store.Route
	deliveries map[string]store.Delivery
	list       []store.Delivery // oldest first
	ended      map[string]bool  // deliveries that have been delivered, dead or discarded at least once
}

func isOpen(d store.Delivery) bool {
	return d.Status == store.DeliveryPending || d.Status == store.DeliveryRetrying
}

// waitsFor lists the deliveries before this one, of the same key, that have never ended.
func (v *view) waitsFor(d store.Delivery) (all []string) {
	for _, o := range v.list {
		if d.OrderKey != "" && o.SubscriptionID == d.SubscriptionID && o.OrderKey == d.OrderKey && o.ID < d.ID && !v.ended[o.ID] {
			all = append(all, o.ID)
		}
	}
	return all
}

// inLine checks what the database says of the order of deliveries with one key: of those that may still be sent, and those
// that are held, all but the first are behind it.
func (v *view) inLine() (wrong string) {
	first := map[string]bool{}
	for _, d := range v.list { // oldest first
		if d.OrderKey == "" || !isOpen(d) && d.Status != store.DeliveryHeld {
			continue
		}
		queue := d.SubscriptionID + " " + d.OrderKey
		if d.Behind != first[queue] {
			return d.ID
		}
		first[queue] = true
	}
	return ""
}

// routed reports whether an administrator lets events of a type pass.
func (v *view) routed(from, to, kind string) bool {
	return slices.ContainsFunc(v.routes, func(r store.Route) bool {
		return r.FromPartnerID == from && r.ToPartnerID == to && r.EventType == kind
	})
}

// sending reports whether attempts for a subscription may start, but for its endpoint.
func (v *view) sending(sub store.Subscription) bool {
	return sub.Status == store.SubscriptionApproved && v.partners[sub.PartnerID] == store.PartnerApproved && v.endpoints[sub.EndpointID].Status != store.EndpointEnded
}

func (m *machine) read() *view {
	v := &view{
		partners: map[string]string{}, endpoints: map[string]store.Endpoint{}, subs: map[string]store.Subscription{},
		deliveries: map[string]store.Delivery{}, ended: map[string]bool{},
	}
	for _, id := range append(m.partners, m.own.ID) {
		p, err := m.db.Partner(m.ctx, id)
		m.must(err)
		v.partners[id] = p.Status
	}
	subs, _, err := m.db.Subscriptions(m.ctx, store.SubscriptionFilter{})
	m.must(err)
	for _, s := range subs {
		v.subs[s.ID] = s
		e, err := m.db.Endpoint(m.ctx, s.EndpointID)
		m.must(err)
		v.endpoints[e.ID] = e
	}
	v.routes, err = m.db.Routes(m.ctx)
	m.must(err)
	v.list, _, err = m.db.Deliveries(m.ctx, store.DeliveryFilter{})
	m.must(err)
	slices.SortFunc(v.list, func(a, b store.Delivery) int { return strings.Compare(a.ID, b.ID) })
	for _, d := range v.list {
		v.deliveries[d.ID] = d
		v.ended[d.ID] = m.now != nil && m.now.ended[d.ID] || !isOpen(d) && d.Status != store.DeliveryHeld
	}
	return v
}

// look reads the database after a step and checks it.
func (m *machine) look() {
	m.transport.check(m)
	before, after := m.now, m.read()
	if before != nil {
		m.judge(before, after)
	}
	m.transport.mu.Lock()
	m.now = after
	m.transport.mu.Unlock()
}
