package outbox

import (
	"errors"
	"fmt"
	"testing"

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
	if err != nil {
		c.Fatal(err)
	}
	if f.part, err = c.db.ReplayPart(c.Context(), j.ID, s.ID); err != nil {
		c.Fatal(err)
	}
	scan, err := c.eng.newScanner(c.Context(), &c.db.Queries, f.r, f.part)
	if err != nil {
		c.Fatal(err)
	}
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
	if err != nil {
		c.Fatal(err)
	}
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
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		north := c.partner("North", "nl.other")
		c.accept("nl.a", "1", "2")
		if _, err := c.eng.Accept(t.Context(), c.submission(north.PartnerID, false, "nl.b", "3")); err != nil {
			t.Fatal(err)
		}
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
		if err := c.eng.CancelJob(t.Context(), anna(), f.part.JobID); err != nil {
			t.Fatal(err)
		}
		if n := c.finishLook(f); n != 0 {
			t.Errorf("%d deliveries after a stop", n)
		}
		f = c.look(node)
		one, two := c.finishLook(f), c.finishLook(f)
		p, err := db.ReplayPart(t.Context(), f.part.JobID, node.ID)
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
	db := storetest.SQLite(t)
	c := newChain(t, db)
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
