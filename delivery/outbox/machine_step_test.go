package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"
	"schakel/store"
)

// actions are the steps there are. What comes often has several names.
func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"": func(*rapid.T) {}}
	for name, fn := range map[string]func(*rapid.T){
		"publish": m.publish, "publish.": m.publish, "publish..": m.publish, "send": m.sendSome, "send.": m.sendSome, "write": m.writeSome,
		"flow": m.flow, "flow.": m.flow, "wait": m.wait, "wait.": m.wait, "tick": m.tick, "key's end": m.toKeyEnd, "sweep": m.sweep, "jobs": m.runJobs, "crash": m.crashes,
		"mood": m.moodOf, "mood.": m.moodOf, "answer": m.answerHung, "stall": m.stalls, "begin": m.begins, "subscription": m.subscription,
		"subscription.": m.subscription, "request": m.request, "endpoint": m.endpointState, "partner": m.partnerState, "route": m.route,
		"person": m.person, "person.": m.person, "bulk": m.bulk, "replay": m.replays, "receive": m.receive, "receive.": m.receive,
		"settle": m.settleSome, "late": m.late, "late.": m.late, "retention": m.retention,
	} {
		all[name] = func(rt *rapid.T) { m.step(rt, trimDots(name), func() { fn(rt) }) }
	}
	return all
}

func trimDots(name string) string {
	for name[len(name)-1] == '.' {
		name = name[:len(name)-1]
	}
	return name
}

// step takes a step and checks what came of it.
func (m *machine) step(rt *rapid.T, name string, fn func()) {
	m.T, m.doing = rt, name
	fn()
	for _, n := range m.nodes {
		m.quiet(n)
	}
	m.look()
}

func (m *machine) anyNode(rt *rapid.T) *node {
	return pick(rt, "node", m.nodes)
}

func (m *machine) sendSome(rt *rapid.T) {
	if n := m.anyNode(rt); rapid.Bool().Draw(rt, "poll") {
		m.poll(n)
	} else {
		m.pump(n)
	}
}

func (m *machine) writeSome(rt *rapid.T) {
	m.flush(m.anyNode(rt), rapid.IntRange(1, 4).Draw(rt, "outcomes"))
}

// flow sends and writes until nothing moves.
func (m *machine) flow(rt *rapid.T) { m.run(m.anyNode(rt)) }

// wait is flow when the next delivery is due.
func (m *machine) wait(rt *rapid.T) {
	n := m.anyNode(rt)
	for range rapid.IntRange(1, 4).Draw(rt, "times") {
		var next time.Time
		for _, d := range m.now.list {
			if t := d.DueAt.Time; isOpen(d) && t.After(m.clock.Now()) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
		if !next.IsZero() {
			m.advance(next.Sub(m.clock.Now()))
		}
		m.run(n)
	}
}

func (m *machine) run(n *node) {
	for range 100 {
		m.poll(n)
		m.look()
		if len(n.out) == 0 {
			return
		}
		m.flush(n, 100)
		m.look()
	}
	m.Fatal("it goes round in circles")
}

// advance sets the clock forward. Attempts that take longer than they may end without an answer first.
func (m *machine) advance(by time.Duration) {
	if by >= attemptMost {
		m.transport.release(func(*attempt) bool { return true }, "timeout")
		for _, n := range m.nodes {
			m.quiet(n)
		}
	}
	m.clock.Advance(by)
}

// attemptMost bounds an attempt: twice the endpoint's time-out.
const attemptMost = 20 * time.Second

func (m *machine) tick(rt *rapid.T) {
	m.advance(rapid.SampledFrom([]time.Duration{
		time.Second, 6 * time.Second, time.Minute, 8 * time.Minute, time.Hour, 3 * time.Hour, 11 * time.Hour, 25 * time.Hour, 4 * 24 * time.Hour, 33 * 24 * time.Hour,
	}).Draw(rt, "by"))
}

// toKeyEnd sets the clock to just before the end of a key, or right to it.
func (m *machine) toKeyEnd(rt *rapid.T) {
	var first time.Time
	for _, d := range m.now.list {
		if t := d.KeyExpiresAt.Time; isOpen(d) && t.After(m.clock.Now()) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if first.IsZero() {
		return
	}
	if by := first.Sub(m.clock.Now()) - rapid.SampledFrom([]time.Duration{0, time.Microsecond, 3 * time.Second}).Draw(rt, "before"); by > 0 {
		m.advance(by)
	}
}

func (m *machine) sweep(rt *rapid.T) {
	n := m.anyNode(rt)
	m.must(n.eng.sweepAll(m.ctx))
	m.look()
	if rapid.Bool().Draw(rt, "keys too") {
		m.must(n.eng.expireKeys(m.ctx))
	}
	m.must(m.pull.Sweep(m.ctx))
	m.probe()
}

func (m *machine) runJobs(rt *rapid.T) { m.anyNode(rt).eng.runJobs(m.ctx) }

func (m *machine) crashes(rt *rapid.T) { m.crash(m.anyNode(rt)) }

// pick draws one by its number: names differ from run to run.
func pick[T any](rt *rapid.T, what string, of []T) T {
	return of[rapid.IntRange(0, len(of)-1).Draw(rt, what)]
}

func (m *machine) anyHook(rt *rapid.T) string { return pick(rt, "endpoint", m.hooks) }

func (m *machine) moodOf(rt *rapid.T) {
	m.transport.mood(m.anyHook(rt), rapid.SampledFrom(moods).Draw(rt, "mood"))
}

// answerHung answers the first attempts that wait.
func (m *machine) answerHung(rt *rapid.T) {
	most := rapid.IntRange(1, 3).Draw(rt, "attempts")
	mood := rapid.SampledFrom(moods[:len(moods)-1]).Draw(rt, "mood")
	m.transport.release(func(*attempt) bool { most--; return most >= 0 }, mood)
}

func (m *machine) stalls(rt *rapid.T) { m.stall(m.anyNode(rt), m.anyHook(rt)) }

func (m *machine) begins(rt *rapid.T) { m.letBegin(m.anyNode(rt), m.anyHook(rt)) }

func (m *machine) retention(rt *rapid.T) {
	if rapid.Bool().Draw(rt, "later") {
		m.advance(31 * 24 * time.Hour)
	}
	now := m.clock.Now()
	old := store.At(now.Add(-30 * 24 * time.Hour))
	m.prune((*store.Tx).PruneExpired, store.At(now))
	m.prune((*store.Tx).PruneEvents, old)
	m.prune((*store.Tx).PruneBatches, old)
	m.prune((*store.Tx).PruneHanded, old)
	for name, at := range m.handed {
		if at.Before(old.Time) {
			delete(m.handed, name)
		}
	}
	for id, e := range m.events {
		if _, err := m.db.Event(m.ctx, id); err != store.ErrNotFound {
			m.must(err)
			continue
		}
		if !e.at.Before(old.Time) {
			m.Fatalf("G4: event %s of %s is gone", id, e.at)
		}
		delete(m.identity, e.identity)
		delete(m.events, id)
	}
}

type pruning func(tx *store.Tx, ctx context.Context, before store.Time, cursor string, limit int) (store.Pruned, error)

func (m *machine) prune(step pruning, before store.Time) {
	var p store.Pruned
	for !p.Done {
		m.must(m.db.Write(m.ctx, func(tx *store.Tx) (err error) {
			p, err = step(tx, m.ctx, before, p.Cursor, 200)
			return err
		}))
	}
}

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

// probe asks for a request at once to each endpoint with an open circuit.
func (m *machine) probe() {
	for id, ep := range m.now.endpoints {
		if ep.Circuit != store.CircuitOpen {
			continue
		}
		m.write(func(tx *store.Tx) error {
			e, err := tx.Endpoint(m.ctx, id)
			_, probed := tx.ProbeNow(m.ctx, &e)
			return errors.Join(err, probed)
		})
	}
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
