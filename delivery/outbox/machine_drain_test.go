package outbox

import (
	"fmt"
	"time"

	"schakel/delivery/event"
	"schakel/store"
)

// drain lets everything go where it should: first while one receiver hangs, which stops no other (guarantee G6), then all.
func (m *machine) drain() {
	for _, id := range m.hooks {
		m.transport.mood(id, "202")
		m.setEndpoint(id, store.EndpointActive)
	}
	for _, id := range m.partners {
		m.setPartner(id, store.PartnerApproved)
	}
	for _, n := range m.nodes {
		for _, id := range m.hooks {
			m.letBegin(n, id)
		}
	}
	m.answerAll()
	slow := m.hooks[0]
	m.transport.mood(slow, "hang")
	began := m.clock.Now()
	m.drainBut(slow)
	m.arrivedBut(slow, began)
	m.transport.mood(slow, "202")
	m.answerAll()
	// The slow one may have been suspended because nothing arrived for so long; another by an answer from before all went well.
	for _, id := range m.hooks {
		m.setEndpoint(id, store.EndpointActive)
	}
	m.look()
	m.drainBut("")
	m.arrivedBut("", began)
	m.burst(slow)
	m.nothingHeld()
}

// burst has more come in than a node holds at once, while one receiver hangs. The others get theirs before any time goes by
// but that which a batch waits to be filled (guarantee G6).
func (m *machine) burst(slow string) {
	m.advance(25 * time.Hour)
	for !inOffice(m.clock.Now()) {
		m.advance(time.Hour)
	}
	m.transport.mood(slow, "hang")
	n, s := m.nodes[0], Submission{ClientID: "cli_own", PartnerID: m.own.ID, FromOwn: true}
	for i := range 12 {
		text := fmt.Appendf(nil, `{"specversion":"1.0","id":"burst %d","source":"urn:x","type":"nl.a","subject":"s%d","data":{"v":1.0}}`, i, i)
		ev, err := event.ParseJSON(text, event.Limits{})
		m.must(err)
		s.Events = append(s.Events, ev)
	}
	a := &accepting{sub: s, done: make(chan struct{})}
	go a.accept(m.ctx, n.eng)
	group := []*pending{<-n.eng.submissions}
	m.remember([]*accepting{a})
	m.commit(n, group, []*accepting{a}, "answered")
	m.look()
	m.advance(5 * time.Second)
	m.sweepAll()
	for _, n := range m.nodes {
		m.run(n)
	}
	m.drainPull()
	if left := m.left(slow); left != "" {
		m.Fatalf("G6: while one receiver hangs there is still open: %s", left)
	}
	m.transport.mood(slow, "202")
	m.answerAll()
	m.drainBut("")
}

// answerAll ends the attempts that wait with an answer of 2xx.
func (m *machine) answerAll() {
	m.transport.release(func(*attempt) bool { return true }, "202")
	for _, n := range m.nodes {
		m.quiet(n)
	}
	m.look()
}

// drainBut goes on until nothing is open but at one endpoint, and behind what the receiver rejected.
func (m *machine) drainBut(slow string) {
	for range 16 {
		for _, n := range m.nodes {
			m.sweepAll()
			m.must(n.eng.expireKeys(m.ctx))
			m.look()
			m.doing = "jobs"
			n.eng.runJobs(m.ctx)
			m.look()
			m.doing = "drain"
			m.run(n)
		}
		m.must(m.pull.Sweep(m.ctx))
		m.look()
		m.drainPull()
		if m.left(slow) == "" {
			return
		}
		m.advance(5 * time.Hour)
	}
	m.Fatalf("G1, G6: still open while %q hangs: %s", slow, m.left(slow))
}

func (m *machine) sweepAll() {
	for _, n := range m.nodes {
		m.must(n.eng.sweepAll(m.ctx))
		m.look()
	}
}

func (m *machine) drainPull() {
	for _, sub := range m.pulled() {
		for m.receiveFrom(sub, 10) > 0 {
			var tokens []string
			for _, h := range m.hand[max(0, len(m.hand)-10):] {
				if h.sub.ID == sub.ID {
					tokens = append(tokens, h.token)
				}
			}
			m.acknowledge(sub, tokens)
			m.look()
		}
	}
}

// left names an open delivery that nothing excuses.
func (m *machine) left(slow string) string {
	for _, d := range m.now.list {
		if isOpen(d) && d.EndpointID != slow && !m.behindHeld(d) {
			return d.ID + " " + d.Status + " " + d.Reason
		}
	}
	return ""
}

// behindHeld reports whether a person must decide about one before it.
func (m *machine) behindHeld(d store.Delivery) bool {
	for _, o := range m.now.list {
		if d.OrderKey != "" && o.SubscriptionID == d.SubscriptionID && o.OrderKey == d.OrderKey && o.ID < d.ID && o.Status == store.DeliveryHeld {
			return true
		}
	}
	return false
}

// arrivedBut checks that what could be sent all the time did arrive: nothing became a dead letter because it was forgotten.
func (m *machine) arrivedBut(slow string, began time.Time) {
	for _, d := range m.now.list {
		recent := !d.UpdatedAt.Before(began)
		if d.Status == store.DeliveryDead && recent && d.Reason == "key-expired" && d.EndpointID != slow && d.KeyExpiresAt.After(began.Add(5*24*time.Hour)) {
			m.Fatalf("G1: %s was never tried while its key lived: %+v", d.ID, d)
		}
	}
}

// nothingHeld checks the counters when all is done.
func (m *machine) nothingHeld() {
	for _, n := range m.nodes {
		n.eng.mu.Lock()
		held := n.eng.held
		n.eng.mu.Unlock()
		for id, more := range n.held() {
			if more != 0 || held != 0 {
				m.Fatalf("%s holds %d, its lane %s %d, though all is done", n.eng.node, held, id, more)
			}
		}
	}
	by, err := m.db.CountDeliveriesBy(m.ctx, "")
	m.must(err)
	total := 0
	for _, n := range by {
		total += n
	}
	if total != len(m.now.list) {
		m.Fatalf("%v counted, %d there", by, len(m.now.list))
	}
	for _, d := range m.now.list {
		m.story(d)
	}
}

// story checks that the attempts of a delivery are written down, each once.
func (m *machine) story(d store.Delivery) {
	attempts, err := m.db.Attempts(m.ctx, d.ID)
	m.must(err)
	if int64(len(attempts)) < d.Attempts || d.Status == store.DeliveryDelivered && d.Attempts == 0 {
		m.Fatalf("delivery %+v has %d attempts", d, len(attempts))
	}
}
