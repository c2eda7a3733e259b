package outbox

import (
	"context"
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

// retention prunes as the program does.
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
