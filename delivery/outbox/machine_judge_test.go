package outbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/delivery/event"
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
	return d.OrderKey != "" && slices.ContainsFunc(m.now.list, func(o store.Delivery) bool {
		return o.SubscriptionID == d.SubscriptionID && o.OrderKey == d.OrderKey && o.ID < d.ID && o.Status == store.DeliveryHeld
	})
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
