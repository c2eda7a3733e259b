package outbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// found is a step of a replay that has looked and not yet written.
type found struct {
	r      Replay
	part   store.ReplayPart
	offers []offer
	cursor string
}

// look begins a replay of what is missing, and takes the first half of its first step. The engine must be stopped.
func (c *chain) look(s store.Subscription) found {
	c.Helper()
	f := found{r: Replay{Mode: ReplayMissing, SubscriptionIDs: []string{s.ID}}}
	j, err := c.eng.StartReplay(c.Context(), anna(), f.r)
	must(c, err)
	if f.part, err = c.db.ReplayPart(c.Context(), j.ID, s.ID); err != nil {
		c.Fatal(err)
	}
	scan, err := c.eng.newScanner(c.Context(), &c.db.Queries, f.r, f.part)
	must(c, err)
	if f.offers, _, err = scan.page(c.Context(), &c.db.Queries, scanPage); err != nil || len(f.offers) == 0 {
		c.Fatalf("%d offers, %v", len(f.offers), err)
	}
	f.cursor = scan.span.AfterID
	return f
}

// finishLook takes the other half and returns how many deliveries it made, or resent.
func (c *chain) finishLook(f found) int {
	c.Helper()
	if _, err := c.eng.offer(c.Context(), f.r, f.part, f.offers, f.cursor, false); err != nil {
		c.Fatal(err)
	}
	p, err := c.db.ReplayPart(c.Context(), f.part.JobID, f.part.SubscriptionID)
	must(c, err)
	if p.Done > 0 && p.Cursor != f.cursor {
		c.Errorf("the part goes on at %q, want %q", p.Cursor, f.cursor)
	}
	return int(p.Done)
}

// What changes between looking and writing counts: another replay, a revocation, a route that is removed, retention, a
// stop, and another node that took the same step (guarantees G2, G3).
//
// Rules: EDU-18
func TestReplayJudgesAgainBeforeItWrites(t *testing.T) {
	eachChain(t, func(t *testing.T, c *chain) {
		north := c.partner("North", "nl.other")
		c.accept("nl.a", "1", "2")
		c.take(c.submission(north.PartnerID, false, "nl.b", "3"))
		c.stop()
		replayed, revoked, routed, pruned, stopped, node := c.partner("A", "nl.a"), c.partner("B", "nl.a"), c.partner("C", "nl.b"), c.partner("D", "nl.a"), c.partner("E", "nl.a"), c.partner("F", "nl.a")
		route := store.Route{FromPartnerID: north.PartnerID, ToPartnerID: routed.PartnerID, EventType: "nl.b"}
		c.write(func(tx *store.Tx) error { return tx.InsertRoute(t.Context(), &route) })

		first, second := c.look(replayed), c.look(replayed)
		if one, two := c.finishLook(first), c.finishLook(second); one != 2 || two != 0 {
			t.Errorf("two replays at once made %d and %d deliveries of two events", one, two)
		}
		f := c.look(revoked)
		c.status(revoked, store.SubscriptionSuspended)
		if n := c.finishLook(f); n != 0 {
			t.Errorf("%d deliveries after a revocation", n)
		}
		f = c.look(routed)
		c.write(func(tx *store.Tx) error { return tx.DeleteRoute(t.Context(), route.ID) })
		if n := c.finishLook(f); n != 0 {
			t.Errorf("%d deliveries along a route that was removed", n)
		}
		f = c.look(stopped)
		must(t, c.eng.CancelJob(t.Context(), anna(), f.part.JobID))
		if n := c.finishLook(f); n != 0 {
			t.Errorf("%d deliveries after a stop", n)
		}
		f = c.look(node)
		one, two := c.finishLook(f), c.finishLook(f)
		p, err := c.db.ReplayPart(t.Context(), f.part.JobID, node.ID)
		if one != 2 || two != 2 || len(c.got(node)["1"]) != 1 || p.Refused != 0 || err != nil {
			t.Errorf("a step taken twice made %d, then %d in all: %+v, %v", one, two, p, err)
		}
		f = c.look(pruned)
		f.offers[0].event.ID = "evt_gone"
		if n := c.finishLook(f); n != 1 {
			t.Errorf("%d deliveries, want one: the other event is gone", n)
		}
	})
}

// On purpose each event is repeated once, however many steps that takes.
//
// Rules: EDU-18
func TestReplayOfAllRepeatsEachEventOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const events = replayStep + 100
		c := newChain(t, db)
		s := c.partner("North", "nl.a")
		c.acceptMany("nl.a", events)
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
		if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{s.ID}}); j.Done != events || j.Total != events {
			t.Errorf("job %+v", j)
		}
		times := map[string]int{}
		c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == 2*events })
		for _, got := range c.rcv.snapshot() {
			times[got.Event.CEID]++
		}
		for i := range events {
			if id := fmt.Sprintf("nl.a-%03d", i); times[id] != 2 {
				t.Errorf("event %s came %d times", id, times[id])
			}
		}
	})
}

// An id that producers gave to more events than one statement takes is rejected in words, and not by the database.
// Rules: EDU-18.
func TestReplayOfTooManyEventsById(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	c.partner("North", "nl.a")
	e := c.submission(c.own.ID, true, "nl.a", "same").Events[0]
	for written := 0; written <= store.EventIDBound; written += 1000 {
		c.write(func(tx *store.Tx) error {
			rows := make([]store.Event, 1000)
			for i := range rows {
				rows[i] = Row(tx, &e, c.own.ID, "cli_1")
				rows[i].CESource = fmt.Sprintf("urn:example:%d", written+i)
			}
			_, err := tx.InsertEvents(t.Context(), rows)
			return err
		})
	}
	r := Replay{Mode: ReplayAll, EventIDs: []string{"same"}}
	if p, err := c.eng.PreviewReplay(t.Context(), anna(), r); !errors.Is(err, ErrTooManyEvents) {
		t.Errorf("preview %+v, %v", p, err)
	}
	if _, err := c.eng.StartReplay(t.Context(), anna(), r); !errors.Is(err, ErrTooManyEvents) {
		t.Errorf("start: %v", err)
	}
}

// replayWorld is a random chain as the test remembers it.
type replayWorld struct {
	*chain
	r      *rand.Rand
	subs   []store.Subscription
	prefix map[string]string // of the subject that a subscription wants, by its id
	routes map[string]bool   // "from to type"
	events []replayEvent
}

type replayEvent struct{ id, from, kind, subject string }

func (w *replayWorld) pick(of []string) string { return of[w.r.IntN(len(of))] }

// addSubscriptions adds some in any state, the own organisation's too.
func (w *replayWorld) addSubscriptions(n int, partners []string) {
	for range n {
		s := w.subscribe(w.pick(partners), [][]string{{"nl.a"}, {"nl.b"}, {"nl.a", "nl.b"}}[w.r.IntN(3)]...)
		w.changeSubscription(s.ID, func(now *store.Subscription) {
			now.Status = w.pick([]string{
				store.SubscriptionApproved, store.SubscriptionApproved, store.SubscriptionApproved,
				store.SubscriptionPaused, store.SubscriptionSuspended, store.SubscriptionEnded, store.SubscriptionRequested,
			})
			if w.prefix[s.ID] = w.pick([]string{"", "", "x", "y1"}); w.prefix[s.ID] != "" {
				now.Filters = fmt.Sprintf(`[{"prefix":{"subject":%q}}]`, w.prefix[s.ID])
			}
			w.subs = append(w.subs, *now)
		})
	}
}

func (w *replayWorld) addEvents(n int, partners []string) {
	for range n {
		e := replayEvent{fmt.Sprint(len(w.events)), w.pick(partners), w.pick([]string{"nl.a", "nl.b"}), w.pick([]string{"x1", "y1", "y12", "z"})}
		ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:1","type":%q,"subject":%q}`, e.id, e.kind, e.subject), event.Limits{})
		must(w, err)
		w.take(Submission{ClientID: "cli_a", PartnerID: e.from, FromOwn: e.from == w.own.ID, Events: []event.Event{ev}})
		w.events = append(w.events, e)
	}
}

// mayGet applies the rules in another way than the engine does (guarantees G2, G3).
func (w *replayWorld) mayGet(s store.Subscription, e replayEvent) bool {
	rights := e.from == w.own.ID || s.PartnerID == w.own.ID || w.routes[e.from+" "+s.PartnerID+" "+e.kind]
	return s.Status == store.SubscriptionApproved && rights && strings.Contains(strings.Join(s.Types, " "), e.kind) && strings.HasPrefix(e.subject, w.prefix[s.ID])
}

// In any chain, replays that run at once, on two nodes where there can be two, make exactly one delivery of each event that
// a subscription may get, and none of any other.
//
// Rules: EDU-18, EDU-N11
func TestReplaysAtOnceOfferEachEventOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w := &replayWorld{chain: newChain(t, db), r: rand.New(rand.NewPCG(seed, 1)), prefix: map[string]string{}, routes: map[string]bool{}}
		partners := []string{w.own.ID}
		for i := range 3 {
			partners = append(partners, w.partner(fmt.Sprint("Partner ", i), "nl.other").PartnerID)
		}
		w.addSubscriptions(4, partners)
		w.addEvents(40, partners)
		for range 6 {
			from, to, kind := w.pick(partners), w.pick(partners), w.pick([]string{"nl.a", "nl.b"})
			if key := from + " " + to + " " + kind; !w.routes[key] {
				w.routes[key] = true
				w.write(func(tx *store.Tx) error {
					return tx.InsertRoute(t.Context(), &store.Route{FromPartnerID: from, ToPartnerID: to, EventType: kind})
				})
			}
		}
		w.addSubscriptions(8, partners)
		nodes := []*Engine{w.eng}
		if db.Dialect() == store.Postgres {
			nodes = append(nodes, w.node(200*time.Millisecond, map[string]Transport{store.EndpointWebhook: w.rcv}))
		}
		var jobs []string
		for i := range 4 {
			for _, partner := range partners {
				j, err := nodes[i%len(nodes)].StartReplay(t.Context(), anna(), Replay{Mode: ReplayMissing, PartnerID: partner})
				if err == nil {
					jobs = append(jobs, j.ID)
				} else if err != ErrNothingSelected {
					t.Fatal(err)
				}
			}
		}
		for _, id := range jobs {
			w.ended(id)
		}
		w.check()
	})
}

func (w *replayWorld) check() {
	w.Helper()
	for _, s := range w.subs {
		got := w.got(s)
		for _, e := range w.events {
			rows := got[e.id]
			replayed := 0
			for _, d := range rows {
				if d.ReplayOf != "" {
					replayed++
				}
			}
			switch may := w.mayGet(s, e); {
			case may && len(rows) != 1:
				w.Errorf("event %+v has %d deliveries for %+v, want one", e, len(rows), s)
			case !may && replayed != 0:
				w.Errorf("event %+v was replayed to %+v, which may not get it", e, s)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got          string // states of the deliveries before, oldest first
		missing, all string // "new", "again" or "" for nothing
	}{
		{"", "new", "new"},
		{"pending", "", ""},
		{"retrying", "", ""},
		{"delivered", "", "new"},
		{"held", "again", "again"},
		{"dead", "again", "again"},
		{"discarded", "", "new"},
		{"delivered pending", "", ""},
		{"delivered dead", "", "again"},
		{"dead pending", "", ""},
		{"discarded dead", "again", "again"},
		{"delivered delivered discarded", "", "new"},
	} {
		var rows []store.Delivery
		for _, status := range strings.Fields(c.got) {
			rows = append(rows, store.Delivery{Status: status})
		}
		for mode, want := range map[string]string{ReplayMissing: c.missing, ReplayAll: c.all} {
			again, offered := judge(mode, rows)
			said := map[bool]string{true: "new", false: ""}[offered]
			if again != nil && offered {
				said = "again"
			}
			if said != want {
				t.Errorf("%s of %q: %q, want %q", mode, c.got, said, want)
			}
		}
	}
}
