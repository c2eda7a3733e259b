package outbox

import (
	"errors"
	"time"

	"pgregory.net/rapid"

	"schakel/delivery/pull"
	"schakel/store"
)

func (m *machine) pulled() (subs []store.Subscription) {
	for _, id := range m.subs {
		if s := m.now.subs[id]; m.now.endpoints[s.EndpointID].Kind == store.EndpointPull {
			subs = append(subs, s)
		}
	}
	return subs
}

// receive leases some deliveries to a consumer, which sees them in order.
func (m *machine) receive(rt *rapid.T) {
	m.receiveFrom(pick(rt, "subscription", m.pulled()), rapid.IntRange(1, 4).Draw(rt, "events"))
}

func (m *machine) receiveFrom(sub store.Subscription, most int) int {
	got, err := m.pull.Receive(m.ctx, pull.Request{Subscription: sub, ClientID: "cli_3", Events: most, Lease: 30 * time.Second})
	if _, stopped := errors.AsType[*pull.StoppedError](err); stopped && (!m.now.sending(sub) || m.now.endpoints[sub.EndpointID].Status != store.EndpointActive) {
		return 0
	}
	m.must(err)
	before, leased := m.now, 0
	m.look()
	for _, d := range m.now.list {
		if old := before.deliveries[d.ID]; d.SubscriptionID != sub.ID || !isOpen(d) || d.LeaseOwner == old.LeaseOwner {
			continue
		}
		leased++
		if behind := m.now.waitsFor(d); len(behind) > 0 {
			m.Fatalf("G5: %s was received before %s had ended", d.ID, behind)
		}
	}
	if leased != len(got) || leased > 0 && !before.sending(sub) {
		m.Fatalf("G2: %d received, %d leased, of a subscription that is %s", len(got), leased, sub.Status)
	}
	for _, g := range got {
		m.hand = append(m.hand, inHand{sub: sub, token: g.LockToken})
	}
	return leased
}

// settleSome says to some lock tokens, of any age, what a consumer can say.
func (m *machine) settleSome(rt *rapid.T) {
	if len(m.hand) == 0 {
		return
	}
	from := rapid.IntRange(0, len(m.hand)-1).Draw(rt, "from")
	some := m.hand[from:min(len(m.hand), from+rapid.IntRange(1, 3).Draw(rt, "tokens"))]
	sub, tokens := some[0].sub, []string(nil)
	for _, h := range some {
		if h.sub.ID == sub.ID {
			tokens = append(tokens, h.token)
		}
	}
	var err error
	switch rapid.SampledFrom([]string{"acknowledge", "acknowledge", "release", "reject", "renew"}).Draw(rt, "verb") {
	case "release":
		_, err = m.pull.Release(m.ctx, sub, tokens, time.Duration(rapid.IntRange(0, 90).Draw(rt, "delay"))*time.Second)
	case "reject":
		_, err = m.pull.Reject(m.ctx, sub, tokens[:1])
	case "renew":
		_, err = m.pull.Renew(m.ctx, sub, tokens, time.Minute)
	default:
		m.acknowledge(sub, tokens)
	}
	m.must(err)
}

// acknowledge counts what is acknowledged for the first time: each makes one delivery delivered.
func (m *machine) acknowledge(sub store.Subscription, tokens []string) {
	settled, err := m.pull.Acknowledge(m.ctx, sub, tokens)
	m.must(err)
	for _, token := range settled.Succeeded {
		for i := range m.hand {
			if h := &m.hand[i]; h.token == token && !h.done {
				h.done = true
				m.toDeliver++
			}
		}
	}
}
