package outbox

import (
	"slices"

	"pgregory.net/rapid"

	"schakel/store"
)

// late has things change between the claim of deliveries and the start of their attempts, or between that and the answer.
func (m *machine) late(rt *rapid.T) {
	n, id := m.anyNode(rt), m.anyHook(rt)
	if rapid.IntRange(0, 2).Draw(rt, "old") == 0 {
		m.toKeyEnd(rt)
	}
	if begun := rapid.Bool().Draw(rt, "begun"); begun {
		m.transport.mood(id, "hang")
	} else {
		m.stall(n, id)
	}
	m.poll(n)
	m.look()
	inFlight := slices.DeleteFunc(slices.Clone(m.now.list), func(d store.Delivery) bool {
		return d.EndpointID != id || d.LeaseOwner != n.eng.node
	})
	for range rapid.IntRange(1, 4).Draw(rt, "changes") {
		m.change(rt, n, id, inFlight)
		m.quiet(n)
		m.look()
	}
	m.doing = "late"
	m.transport.mood(id, "202")
	m.letBegin(n, id)
	m.transport.release(func(a *attempt) bool { return a.endpoint == id }, rapid.SampledFrom(moods[:len(moods)-1]).Draw(rt, "answer"))
	m.quiet(n)
	m.look()
	m.flush(n, 100)
}

// change is something that bears on deliveries that are in flight to an endpoint.
func (m *machine) change(rt *rapid.T, n *node, endpoint string, inFlight []store.Delivery) {
	m.doing = rapid.SampledFrom([]string{"pause", "pause", "approve", "end", "endpoint", "partner", "sweep", "person", "tick", "key's end", "poll"}).Draw(rt, "change")
	if len(inFlight) == 0 {
		return
	}
	d := pick(rt, "in flight", inFlight)
	sub := m.now.subs[d.SubscriptionID]
	switch m.doing {
	case "pause", "approve", "end":
		status := map[string]string{"pause": store.SubscriptionPaused, "approve": store.SubscriptionApproved, "end": store.SubscriptionEnded}[m.doing]
		if slices.Contains(afterwards[sub.Status], status) {
			m.setSubscription(sub.ID, status)
		}
	case "endpoint":
		m.setEndpoint(endpoint, pick(rt, "state", []string{store.EndpointActive, store.EndpointPaused}))
	case "partner":
		if sub.PartnerID != m.own.ID {
			m.setPartner(sub.PartnerID, pick(rt, "state", []string{store.PartnerApproved, store.PartnerSuspended}))
		}
	case "sweep":
		m.must(n.eng.sweepAll(m.ctx))
	case "person":
		m.decide(rt, n, m.now.deliveries[d.ID])
	case "tick":
		m.tick(rt)
	case "key's end":
		m.toKeyEnd(rt)
	case "poll":
		m.poll(n)
	}
}
