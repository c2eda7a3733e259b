package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"schakel/store"
)

// newWaiting adds a business message from HER-id 100 that no administrator was notified of and nothing was asked of, changed as given.
func (w *world) newWaiting(status, id string, change func(m *store.AMQPMessage)) store.AMQPMessage {
	w.t.Helper()
	m := store.AMQPMessage{
		Direction: store.AMQPIn, Kind: store.AMQPBusiness, Status: status, MessageID: id, MsgID: id, OwnPartyID: "amp_own", PartyID: "amp_one",
		PartnerID: w.partner.ID, Her: 100, Queue: "q", Subject: "s",
	}
	if change != nil {
		change(&m)
	}
	w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &m) })
	return m
}

// message reads a message that must be there.
func (w *world) message(id string) store.AMQPMessage {
	w.t.Helper()
	m, err := w.db.AMQPMessage(w.ctx, id)
	noErr(w.t, err)
	return m
}

// messageIDs gives the ids of messages in their order.
func messageIDs(rows []store.AMQPMessage) []string {
	ids := []string{}
	for _, m := range rows {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestAMQPQuarantinedAs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		digest := func(d string) func(m *store.AMQPMessage) { return func(m *store.AMQPMessage) { m.ContentDigest = d } }
		a := w.newWaiting(store.AMQPQuarantined, "m1", digest("a"))
		b := w.newWaiting(store.AMQPQuarantined, "m1", digest("b")) // the same messageId with other content is another message
		w.newWaiting(store.AMQPUnsent, "m2", func(m *store.AMQPMessage) { m.Direction, m.ContentDigest = store.AMQPOut, "a" })
		for _, c := range []struct {
			own, queue, messageID, digest, want string
		}{
			{"amp_own", "q", "m1", "a", a.ID},
			{"amp_own", "q", "m1", "b", b.ID},
			{"amp_own", "q", "m1", "c", ""},
			{"amp_other", "q", "m1", "a", ""},
			{"amp_own", "other", "m1", "a", ""},
			{"amp_own", "q", "m3", "a", ""},
			{"amp_own", "q", "m2", "a", ""}, // it went out
		} {
			got, err := w.db.AMQPQuarantinedAs(w.ctx, c.own, c.queue, c.messageID, c.digest)
			if c.want == "" {
				missing(t)(got, err)
			} else {
				same(t, got.ID, err, c.want)
			}
		}
	})
}

func TestAskAMQP(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var dead []store.AMQPMessage
		for i := range 3 {
			dead = append(dead, w.newWaiting(store.AMQPDead, fmt.Sprint("m", i), nil))
		}
		others := w.newWaiting(store.AMQPDead, "m4", func(m *store.AMQPMessage) { m.PartyID = "amp_two" })
		done := w.newWaiting(store.AMQPProcessed, "m5", nil)
		ask := func(f store.AMQPFilter, asked string, limit, want int) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				n, err := tx.AskAMQP(w.ctx, f, asked, limit)
				same(t, n, err, want)
				return err
			})
		}
		f := store.AMQPFilter{PartyID: "amp_one", Able: []string{store.AMQPDead}}
		ask(store.AMQPFilter{PartyID: "amp_none"}, "none", 10, 0)
		ask(f, "first", 2, 2) // the oldest
		for i, want := range []string{"first", "first", ""} {
			same(t, w.message(dead[i].ID).Asked, nil, want)
		}
		same(t, w.message(dead[0].ID).AskedAt, nil, w.now())
		w.clock.Advance(time.Second)
		ask(f, "second", 10, 1) // what something is asked of keeps that
		ask(f, "third", 10, 0)
		for i, want := range []string{"first", "first", "second"} {
			same(t, w.message(dead[i].ID).Asked, nil, want)
		}
		for _, m := range []store.AMQPMessage{others, done} {
			got := w.message(m.ID)
			same(t, [2]any{got.Asked, got.AskedAt.IsZero()}, nil, [2]any{"", true})
		}
		gives(t, 3)(w.db.CountAMQPMessages(w.ctx, store.AMQPFilter{Asked: true}))
	})
}

func TestTakeAMQPAsked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.newWaiting(store.AMQPDead, "m1", nil), w.newWaiting(store.AMQPDead, "m2", nil)
		w.newWaiting(store.AMQPDead, "m3", func(m *store.AMQPMessage) { m.PartyID = "amp_two" }) // nothing is asked of it
		take := func(limit int, want ...string) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				rows, err := tx.TakeAMQPAsked(w.ctx, limit, w.in(time.Minute))
				same(t, messageIDs(rows), err, append([]string{}, want...))
				for _, m := range rows {
					same(t, [2]any{m.Asked, m.AskedAt}, nil, [2]any{"drop", w.in(time.Minute)})
				}
				return err
			})
		}
		take(10)
		w.write(func(tx *store.Tx) error {
			_, err := tx.AskAMQP(w.ctx, store.AMQPFilter{PartyID: "amp_one"}, "drop", 10)
			return err
		})
		take(1, a.ID)
		take(10, b.ID)
		take(10) // a node has both
		w.clock.Advance(time.Minute)
		take(10, a.ID, b.ID) // until its lease ends

		again := w.in(time.Hour)
		finish := func(asked string) {
			t.Helper()
			w.write(func(tx *store.Tx) error { return tx.AskedAMQPDone(w.ctx, a.ID, asked, again) })
		}
		finish("another") // it is asked something else by now
		same(t, w.message(a.ID).Asked, nil, "drop")
		finish("drop")
		got := w.message(a.ID)
		same(t, [2]any{got.Asked, got.AskedAt}, nil, [2]any{"", again})
		finish("drop") // once is enough
		same(t, w.message(b.ID).Asked, nil, "drop")
		w.clock.Advance(2 * time.Hour)
		take(10, b.ID)
	})
}

// Rules: AMQP-16.
func TestAMQPHeld(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		held := func(want ...store.AMQPHeldFor) {
			t.Helper()
			rows, err := w.db.AMQPHeld(w.ctx, w.now())
			slices.SortFunc(rows, func(a, b store.AMQPHeldFor) int { return slices.Index(want, a) - slices.Index(want, b) })
			same(t, rows, err, want)
		}
		held()
		a, b := w.newWaiting(store.AMQPHeld, "m1", nil), w.newWaiting(store.AMQPHeld, "m2", nil)
		others := []store.AMQPMessage{
			w.newWaiting(store.AMQPHeld, "m3", func(m *store.AMQPMessage) { m.Subject = "t" }),
			w.newWaiting(store.AMQPHeld, "m4", func(m *store.AMQPMessage) { m.PartyID = "amp_two" }),
			w.newWaiting(store.AMQPHeld, "m5", func(m *store.AMQPMessage) { m.OwnPartyID = "amp_own2" }),
		}
		w.newWaiting(store.AMQPDead, "m6", func(m *store.AMQPMessage) { m.Subject = "dead" })
		asked := w.newWaiting(store.AMQPHeld, "m7", func(m *store.AMQPMessage) { m.Asked, m.AskedAt = "drop", w.now() })
		later := w.newWaiting(store.AMQPHeld, "m8", func(m *store.AMQPMessage) { m.AskedAt = w.in(time.Hour) })
		of := store.AMQPHeldFor{PartyID: "amp_one", OwnPartyID: "amp_own", Subject: "s"}
		t1 := store.AMQPHeldFor{PartyID: "amp_one", OwnPartyID: "amp_own", Subject: "t"}
		two := store.AMQPHeldFor{PartyID: "amp_two", OwnPartyID: "amp_own", Subject: "s"}
		own := store.AMQPHeldFor{PartyID: "amp_one", OwnPartyID: "amp_own2", Subject: "s"}
		held(of, t1, two, own)

		release := func(tx *store.Tx) (int64, error) { return tx.ReleaseAMQPHeld(w.ctx, of, "release") }
		w.count(0, func(tx *store.Tx) (int64, error) {
			return tx.ReleaseAMQPHeld(w.ctx, store.AMQPHeldFor{PartyID: "amp_one", OwnPartyID: "amp_own", Subject: "dead"}, "release")
		})
		w.count(2, release)
		for _, m := range []store.AMQPMessage{a, b} {
			got := w.message(m.ID)
			same(t, [3]any{got.Status, got.Asked, got.AskedAt}, nil, [3]any{store.AMQPHeld, "release", w.now()})
		}
		for _, m := range append(others, later) {
			same(t, w.message(m.ID).Asked, nil, "")
		}
		same(t, w.message(asked.ID).Asked, nil, "drop")
		w.count(0, release)
		held(t1, two, own)

		w.clock.Advance(time.Hour) // what was tried in vain is tried again
		held(of, t1, two, own)
		w.count(1, release)
		same(t, w.message(later.ID).Asked, nil, "release")
	})
}

// Rules: AMQP-53, AMQP-89.
// noticed notes that a group was notified of, which is as it was listed.
func (w *world) noticed(g store.AMQPUnnoticed) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		now, err := tx.NoticedAMQP(w.ctx, g)
		if err == nil && (now.Count != g.Count || now.First != g.First) {
			w.t.Errorf("marked %+v, listed %+v", now, g)
		}
		return err
	})
}

// What came after a group was listed is in what is marked, and what went is not.
func TestNoticedAMQPCountsWhatItMarks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.newWaiting(store.AMQPDead, "m1", nil)
		rows, err := w.db.AMQPUnnoticed(w.ctx, w.now(), 10)
		if err != nil || len(rows) != 1 || rows[0].Count != 1 {
			t.Fatalf("%+v, %v", rows, err)
		}
		second := w.newWaiting(store.AMQPDead, "m2", nil)
		mark := func(count int, id string) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				g, err := tx.NoticedAMQP(w.ctx, rows[0])
				if err == nil && (g.Count != count || g.First != id) {
					t.Errorf("marked %d from %s, want %d from %s", g.Count, g.First, count, id)
				}
				return err
			})
		}
		first.Status = store.AMQPDropped
		w.write(func(tx *store.Tx) error { _, err := tx.UpdateAMQPMessage(w.ctx, &first, store.AMQPDead); return err })
		mark(1, second.ID)
		mark(0, rows[0].First)
	})
}

func TestAMQPUnnoticed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		unnoticed := func(since store.Time, limit int, want ...store.AMQPUnnoticed) {
			t.Helper()
			gives(t, want)(w.db.AMQPUnnoticed(w.ctx, since, limit))
		}
		noticed := func(g store.AMQPUnnoticed) {
			t.Helper()
			w.noticed(g)
		}
		unnoticed(w.now(), 10)
		why := func(m *store.AMQPMessage) { m.Reason, m.Detail = "r", "d" }
		a, b := w.newWaiting(store.AMQPDead, "m1", why), w.newWaiting(store.AMQPDead, "m2", why)
		other := w.newWaiting(store.AMQPDead, "m3", func(m *store.AMQPMessage) { m.Her, m.PartyID = 101, "amp_two" })
		held := w.newWaiting(store.AMQPHeld, "m4", nil)
		w.newWaiting(store.AMQPDead, "m5", func(m *store.AMQPMessage) { m.Queue, m.NotifiedAt = "q2", w.in(-2*time.Hour) })
		group := func(m store.AMQPMessage, n int) store.AMQPUnnoticed {
			return store.AMQPUnnoticed{
				Status: m.Status, OwnPartyID: m.OwnPartyID, PartyID: m.PartyID, Her: m.Her, Queue: m.Queue, Count: n, First: m.ID, Reason: m.Reason, Detail: m.Detail,
			}
		}
		hour := w.in(-time.Hour)
		unnoticed(hour, 10, group(a, 2), group(other, 1), group(held, 1))
		unnoticed(hour, 2, group(a, 2), group(other, 1))

		noticed(group(a, 2))
		for _, m := range []store.AMQPMessage{a, b} {
			same(t, w.message(m.ID).NotifiedAt, nil, w.now())
		}
		for _, m := range []store.AMQPMessage{other, held} {
			same(t, w.message(m.ID).NotifiedAt, nil, store.Time{})
		}
		late := w.newWaiting(store.AMQPDead, "m6", nil)
		elsewhere := w.newWaiting(store.AMQPDead, "m7", func(m *store.AMQPMessage) { m.Queue = "q3" })
		unnoticed(hour, 10, group(other, 1), group(held, 1), group(elsewhere, 1)) // the late one waits for the next notice
		at := w.now()
		w.clock.Advance(time.Hour)
		unnoticed(at, 10, group(other, 1), group(held, 1), group(late, 1), group(elsewhere, 1))
		noticed(group(late, 1))
		same(t, w.message(a.ID).NotifiedAt, nil, at) // no other notice is noted of it
		same(t, w.message(late.ID).NotifiedAt, nil, w.now())
	})
}

// TestAMQPUnnoticedWithoutHerID: two parties without a HER-id may use queues of one name at two brokers. A notice of one does not
// delay that of the other.
func TestAMQPUnnoticedWithoutHerID(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		party := func(id string) func(m *store.AMQPMessage) {
			return func(m *store.AMQPMessage) {
				m.Kind, m.Her, m.PartyID, m.OwnPartyID = store.AMQPEvent, 0, id, id
			}
		}
		w.newWaiting(store.AMQPQuarantined, "m1", party("amp_one"))
		rows, err := w.db.AMQPUnnoticed(w.ctx, w.in(-time.Hour), 10)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%+v, %v", rows, err)
		}
		w.noticed(rows[0])
		second := w.newWaiting(store.AMQPQuarantined, "m2", party("amp_two"))
		w.newWaiting(store.AMQPQuarantined, "m3", party("amp_one"))
		rows, err = w.db.AMQPUnnoticed(w.ctx, w.in(-time.Hour), 10)
		if err != nil || len(rows) != 1 || rows[0].First != second.ID {
			t.Errorf("%+v, %v; want the message of the second party only", rows, err)
		}
	})
}

// TestAMQPUnnoticedStates: administrators hear of what waits for a person and of nothing else.
func TestAMQPUnnoticedStates(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := 0
		add := func(direction, kind, status string, change func(m *store.AMQPMessage)) string {
			n++
			return w.newWaiting(status, fmt.Sprint("m", n), func(m *store.AMQPMessage) {
				m.Direction, m.Kind, m.Queue = direction, kind, fmt.Sprint("q", n)
				if change != nil {
					change(m)
				}
			}).ID
		}
		overdue := func(m *store.AMQPMessage) { m.OverdueAt = w.now() }
		tries := func(n int64) func(m *store.AMQPMessage) { return func(m *store.AMQPMessage) { m.Attempts = n } }
		want := []string{
			add(store.AMQPIn, store.AMQPBusiness, store.AMQPDead, nil),
			add(store.AMQPIn, store.AMQPBusiness, store.AMQPQuarantined, nil),
			add(store.AMQPIn, store.AMQPBusiness, store.AMQPHeld, nil),
			add(store.AMQPIn, store.AMQPBusiness, store.AMQPUnchecked, nil),
			add(store.AMQPOut, store.AMQPBusiness, store.AMQPOpenMessage, overdue),
			add(store.AMQPOut, store.AMQPAppRec, store.AMQPDue, tries(store.AMQPAnswerTries)),
			add(store.AMQPOut, store.AMQPError, store.AMQPUnsent, nil),
			add(store.AMQPIn, store.AMQPBusiness, store.AMQPDuplicate, func(m *store.AMQPMessage) { m.Reason = store.AMQPOtherContent }),
		}
		add(store.AMQPOut, store.AMQPBusiness, store.AMQPOpenMessage, nil)
		add(store.AMQPOut, store.AMQPRequest, store.AMQPOpenMessage, overdue)
		add(store.AMQPOut, store.AMQPAppRec, store.AMQPDue, tries(store.AMQPAnswerTries-1))
		add(store.AMQPOut, store.AMQPBusiness, store.AMQPUnsent, nil) // its delivery tells
		add(store.AMQPIn, store.AMQPBusiness, store.AMQPDuplicate, nil)
		add(store.AMQPIn, store.AMQPBusiness, store.AMQPProcessed, nil)
		add(store.AMQPIn, store.AMQPBusiness, store.AMQPDropped, nil)
		rows, err := w.db.AMQPUnnoticed(w.ctx, w.now(), 100)
		got := []string{}
		for _, g := range rows {
			got = append(got, g.First)
			w.noticed(g)
		}
		same(t, got, err, want)
		rows, err = w.db.AMQPUnnoticed(w.ctx, w.now(), 100)
		same(t, rows, err, nil)
	})
}
