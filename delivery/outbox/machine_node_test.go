package outbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
	"schakel/delivery/event"
	"schakel/delivery/pull"
	"schakel/store"
)

// node is an engine whose loops stand still: the test takes their steps.
type node struct {
	eng    *Engine
	out    []sendResult              // what its senders are done with and is not written yet
	queues map[string]*endpointQueue // all there ever were, by endpoint
	slots  map[string]int            // taken by the test, so that senders wait before they begin
}

func (m *machine) newNode() *node {
	n := &node{queues: map[string]*endpointQueue{}, slots: map[string]int{}, eng: New(Config{
		DB: m.db, Now: m.clock.Now, Log: slog.New(slog.DiscardHandler), KeyLifetime: keyLife, MaxInFlight: 16, MaxBatch: 16,
		Transports: map[string]Transport{store.EndpointWebhook: m.transport}, Circuit: CircuitPolicy{Failures: 4},
	})}
	m.ever[n.eng.node] = true
	_, err := n.eng.prepare(m.ctx)
	m.must(err)
	return n
}

// drop makes a node disappear as a crash does: nothing of what it holds is written.
func (m *machine) drop(n *node) {
	n.eng.closing.Store(true)
	m.transport.release(func(a *attempt) bool { return a.owner == n.eng.node }, "crash")
	for id := range n.slots {
		m.letBegin(n, id)
	}
	n.eng.senders.Wait()
}

func (m *machine) crash(n *node) {
	m.drop(n)
	for i := range m.nodes {
		if m.nodes[i] == n {
			m.nodes[i] = m.newNode()
		}
	}
}

// stall keeps senders of an endpoint queue from beginning, when none of them is at it.
func (m *machine) stall(n *node, endpoint string) bool {
	q := n.queues[endpoint]
	if q == nil || n.slots[endpoint] > 0 || len(q.slots) > 0 {
		return false
	}
	for range cap(q.slots) {
		q.slots <- struct{}{}
	}
	n.slots[endpoint] = cap(q.slots)
	return true
}

func (m *machine) letBegin(n *node, endpoint string) {
	for range n.slots[endpoint] {
		<-n.queues[endpoint].slots
	}
	delete(n.slots, endpoint)
}

// pump does what the dispatcher does when it is woken, and waits until its senders have got as far as they get.
func (m *machine) pump(n *node) {
	m.must(n.eng.refreshQueues(m.ctx))
	m.must(n.eng.claimDue(m.ctx))
	m.quiet(n)
}

// poll is pump after a while.
func (m *machine) poll(n *node) {
	n.eng.readyAll()
	m.pump(n)
}

// flush writes back up to most of what senders are done with.
func (m *machine) flush(n *node, most int) {
	m.quiet(n)
	var batch []sendResult
	for len(n.out) > 0 && most > 0 {
		batch, n.out, most = n.out[0].appendTo(batch), n.out[1:], most-1
	}
	if len(batch) == 0 {
		return
	}
	if m.db.Dialect() == store.Postgres {
		n.eng.complete(m.ctx, batch)
	} else if !n.eng.writeAll(m.ctx, nil, batch) {
		m.Fatal("outcomes were not written")
	}
}

// quiet waits until every sender of a node is done, or waits for an answer or for its turn.
func (m *machine) quiet(n *node) {
	for !m.still(n) {
		select {
		case f := <-n.eng.outcomes:
			n.out = append(n.out, f)
		case <-m.transport.entered:
		case <-time.After(time.Minute):
			m.Fatalf("senders of %s are not done", n.eng.node)
		}
	}
	m.transport.check(m)
}

func (m *machine) still(n *node) bool {
	held := n.held()
	for _, f := range n.out {
		for _, one := range f.appendTo(nil) {
			if !one.inRun {
				held[one.ep.ID]--
			}
		}
	}
	requests := map[string]int{}
	for _, a := range m.transport.waiting() {
		if a.owner == n.eng.node {
			requests[a.endpoint]++
			held[a.endpoint] -= a.members
		}
	}
	for id, left := range held {
		if left > 0 && n.slots[id] == 0 && requests[id] < cap(n.queues[id].slots) {
			return false
		}
	}
	return true
}

// held counts the places that each queue of a node has taken; a run takes one.
func (n *node) held() map[string]int {
	n.eng.mu.Lock()
	defer n.eng.mu.Unlock()
	held := map[string]int{}
	for id, q := range n.eng.queues {
		n.queues[id] = q
	}
	for id, q := range n.queues {
		held[id] = q.held
	}
	return held
}

// accepting is a request on its way.
type accepting struct {
	sub     Submission
	receipt Receipt
	err     error
	done    chan struct{}
}

func (a *accepting) accept(ctx context.Context, e *Engine) {
	defer close(a.done)
	a.receipt, a.err = e.Accept(ctx, a.sub)
}

// publish offers one or two requests to a node at once, which writes them together with what it has sent. It may crash
// before it writes them, or before it answers.
func (m *machine) publish(rt *rapid.T) {
	n := m.anyNode(rt)
	fate := rapid.SampledFrom([]string{"answered", "answered", "answered", "answered", "lost", "not answered"}).Draw(rt, "fate")
	var group []*pending
	var requests []*accepting
	inFlight := map[string]bool{}
	for range rapid.IntRange(1, 2).Draw(rt, "requests") {
		a := &accepting{sub: m.compose(rt), done: make(chan struct{})}
		name := a.sub.ClientID + " " + a.sub.Key
		go a.accept(m.ctx, n.eng)
		select {
		case p := <-n.eng.submissions:
			group, requests = append(group, p), append(requests, a)
			if a.sub.Key != "" && inFlight[name] {
				m.Fatal("E8: two requests with one key are handled at once")
			}
		case <-a.done:
			if !inFlight[name] || !errors.Is(a.err, ErrKeyInUse) {
				m.Fatalf("request refused: %v", a.err)
			}
		}
		inFlight[name] = true
	}
	m.remember(requests)
	m.commit(n, group, requests, fate)
}

func (m *machine) commit(n *node, group []*pending, requests []*accepting, fate string) {
	switch fate {
	case "lost": // nothing of it was written, nobody is answered
		m.crash(n)
		return
	case "not answered":
		m.must(m.db.Write(m.ctx, func(tx *store.Tx) error { _, err := n.eng.write(m.ctx, tx, group); return err }))
		for i, p := range group {
			requests[i].receipt, requests[i].err = p.receipt, p.err
		}
		m.crash(n)
	default:
		if m.db.Dialect() == store.Postgres {
			n.eng.commit(m.ctx, group)
		} else if !n.eng.writeAll(m.ctx, group, nil) {
			m.Fatal("a group was not written")
		}
		for _, a := range requests {
			<-a.done
		}
		m.quiet(n)
	}
	for _, a := range requests {
		m.accepted(a)
	}
}

// compose makes a request: a new one, or one that was made before, as it was or with other content.
func (m *machine) compose(rt *rapid.T) Submission {
	how := rapid.SampledFrom([]string{"new", "new", "new", "without a key", "again", "key for other content"}).Draw(rt, "request")
	var old *Submission
	if len(m.sent) > 0 {
		old = &m.sent[rapid.IntRange(0, len(m.sent)-1).Draw(rt, "of")]
	}
	if how == "again" && old != nil {
		return *old
	}
	from := rapid.IntRange(0, 2).Draw(rt, "from")
	s := Submission{ClientID: "cli_own", PartnerID: m.own.ID, FromOwn: true, Key: uuid.NewString()}
	if from > 0 {
		s.ClientID, s.PartnerID, s.FromOwn = fmt.Sprint("cli_", from), m.partners[from-1], false
	}
	switch {
	case how == "without a key":
		s.Key = ""
	case how == "key for other content" && old != nil:
		s.Key, s.ClientID, s.PartnerID, s.FromOwn = old.Key, old.ClientID, old.PartnerID, old.FromOwn
	}
	if rapid.IntRange(0, 3).Draw(rt, "for some") == 0 {
		s.Audience = store.OnlyFor(m.partners[:rapid.IntRange(0, len(m.partners)-1).Draw(rt, "for")]...)
	}
	hash := sha256.New()
	for range rapid.IntRange(1, 3).Draw(rt, "events") {
		m.version++
		text := fmt.Appendf(nil, `{"specversion":"1.0","id":"%d","source":"urn:nld:oin:1","type":%q,"subject":%q,"data":{ "v": %d.50, "é":"\u00e9" }}`,
			rapid.IntRange(1, 9).Draw(rt, "id"), rapid.SampledFrom([]string{"nl.a", "nl.b"}).Draw(rt, "type"),
			rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "subject"), m.version)
		ev, err := event.ParseJSON(text, event.Limits{})
		m.must(err)
		s.Events = append(s.Events, ev)
		hash.Write(text)
	}
	s.Fingerprint = hash.Sum(nil)
	m.sent = append(m.sent, s)
	return s
}

func (m *machine) answersFromKey(s Submission) (storedKey, bool) {
	k, there := m.keys[s.ClientID+" "+s.Key]
	return k, there && s.Key != "" && k.expires.After(m.clock.Now())
}

// remember keeps what the data of new events must be when they leave, which may be before we are answered.
func (m *machine) remember(requests []*accepting) {
	m.transport.mu.Lock()
	defer m.transport.mu.Unlock()
	now := map[string]bool{}
	for _, a := range requests {
		if _, kept := m.answersFromKey(a.sub); kept {
			continue
		}
		for _, ev := range a.sub.Events {
			name := identityName(a.sub, ev)
			if m.identity[name] == "" && !now[name] {
				now[name], m.transport.bodies[name] = true, string(ev.Data)
			}
		}
	}
}

func identityName(s Submission, ev event.Event) string {
	return s.ClientID + " " + ev.Source + " " + ev.ID
}

// accepted checks the answer to a request, and remembers what follows from it (guarantee G4).
func (m *machine) accepted(a *accepting) {
	s, r := a.sub, a.receipt
	if stored, there := m.answersFromKey(s); there {
		if stored.fingerprint != string(s.Fingerprint) {
			if !errors.Is(a.err, ErrKeyReused) {
				m.Fatalf("IDEM-11: a key for other content: %+v, %v", r, a.err)
			}
		} else if a.err != nil || !r.Replayed || !slices.Equal(r.Events, stored.events) {
			m.Fatalf("IDEM-14: the same request again: %+v, %v, want %+v", r, a.err, stored.events)
		}
		return
	}
	if a.err != nil || r.Replayed || len(r.Events) != len(s.Events) {
		m.Fatalf("a new request: %+v, %v", r, a.err)
	}
	for i, ev := range s.Events {
		name, got := identityName(s, ev), r.Events[i]
		id := m.identity[name]
		if got.ID != ev.ID || got.Source != ev.Source || got.Duplicate != (id != "") || id != "" && got.EventID != id {
			m.Fatalf("G4: %s is answered with %+v, it is known as %q", name, got, id)
		}
		if id == "" {
			m.identity[name] = got.EventID
			m.events[got.EventID] = m.learn(s, ev, name)
		}
	}
	if s.Key != "" {
		m.keys[s.ClientID+" "+s.Key] = storedKey{string(s.Fingerprint), r.Events, m.clock.Now().Add(keyLife)}
	}
}

// learn records who has to get an event that is accepted now (guarantees G1, G2, G3).
func (m *machine) learn(s Submission, ev event.Event, name string) *known {
	e := &known{identity: name, source: ev.Source + " " + ev.ID, from: s.PartnerID, kind: ev.Type, at: m.clock.Now()}
	if s.Audience != "" {
		e.only = append(s.Audience.Partners(), m.own.ID)
	}
	for _, sub := range m.now.subs {
		if !m.wants(m.now, sub, e) || sub.Status != store.SubscriptionApproved && sub.Status != store.SubscriptionPaused {
			continue
		}
		if sub.Dedupe {
			if _, before := m.handed[sub.ID+" "+e.source]; before {
				continue
			}
			m.handed[sub.ID+" "+e.source] = m.clock.Now()
		}
		e.want = append(e.want, sub.ID)
	}
	return e
}

// wants reports whether an event may go to a subscription, but for the state of that.
func (m *machine) wants(v *view, sub store.Subscription, e *known) bool {
	return (e.only == nil || slices.Contains(e.only, sub.PartnerID)) && slices.Contains(sub.Types, e.kind) && v.partners[sub.PartnerID] == store.PartnerApproved && v.endpoints[sub.EndpointID].Status != store.EndpointEnded &&
		(e.from == m.own.ID || sub.PartnerID == m.own.ID || v.routed(e.from, sub.PartnerID, e.kind))
}

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
