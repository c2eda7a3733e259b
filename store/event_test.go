package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"schakel/store"
)

func TestEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var full, bare, empty store.Event
		fill(&full, 1)
		fill(&bare, 2)
		fill(&empty, 3)
		bare.Data, empty.Data = nil, []byte{}
		w.write(func(tx *store.Tx) error {
			fresh, err := tx.InsertEvents(w.ctx, []store.Event{full, bare, empty})
			same(t, fresh, err, map[string]bool{full.ID: true, bare.ID: true, empty.ID: true})
			return err
		})
		for _, want := range []store.Event{full, bare} {
			got, err := w.db.Event(w.ctx, want.ID)
			same(t, got, err, want)
		}
		got, err := w.db.Event(w.ctx, empty.ID)
		same(t, len(got.Data), err, 0)
		got, err = w.db.Event(w.ctx, "evt_none")
		missing(t, got, err)
		id, err := w.db.EventIDByIdentity(w.ctx, full.ClientID, full.CESource, full.CEID)
		same(t, id, err, full.ID)
		id, err = w.db.EventIDByIdentity(w.ctx, bare.ClientID, full.CESource, full.CEID)
		missing(t, id, err)
	})
}

// The same event of the same client is one event, however it is offered (guarantee G4).
//
// Rules: CE-05.
func TestInsertEventsTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.event("evt_1")
		again, otherClient, otherSource := first, first, first
		again.ID, again.Data = "evt_2", []byte("other")
		otherClient.ID, otherClient.ClientID = "evt_3", "cli_other"
		otherSource.ID, otherSource.CESource = "evt_4", "urn:other"
		batch := []store.Event{first, again, otherClient, otherSource}
		w.write(func(tx *store.Tx) error {
			fresh, err := tx.InsertEvents(w.ctx, batch)
			same(t, fresh, err, map[string]bool{"evt_1": true, "evt_3": true, "evt_4": true})
			return err
		})
		for i := range batch {
			batch[i].ID += "_later"
		}
		w.write(func(tx *store.Tx) error {
			fresh, err := tx.InsertEvents(w.ctx, batch)
			same(t, len(fresh), err, 0)
			return err
		})
		_, total, err := w.db.Events(w.ctx, store.EventFilter{CEID: first.CEID})
		same(t, total, err, 3)
		w.write(func(tx *store.Tx) error { _, err := tx.InsertEvents(w.ctx, nil); return err })
	})
}

// More events than fit one statement: all are written, and only the ones sent before are not new.
func TestInsertEventsInChunks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		events := make([]store.Event, 500)
		for i := range events {
			events[i] = w.event(fmt.Sprintf("evt_%04d", i))
		}
		before := slices.Clone(events[100:110])
		for i := range before {
			before[i].ID += "_before"
		}
		w.write(func(tx *store.Tx) error { _, err := tx.InsertEvents(w.ctx, before); return err })
		w.write(func(tx *store.Tx) error {
			fresh, err := tx.InsertEvents(w.ctx, events)
			same(t, len(fresh), err, 490)
			same(t, fresh["evt_0105"], err, false)
			return err
		})
	})
}

func TestEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		old := w.newEvents(2)
		w.clock.Advance(time.Hour)
		other := w.event("evt_Z")
		other.PartnerID, other.ClientID, other.CEType = "ptn_other", "cli_other", "nl.other"
		w.write(func(tx *store.Tx) error { _, err := tx.InsertEvents(w.ctx, []store.Event{other}); return err })
		all := []string{"evt_Z", old[1].ID, old[0].ID}
		id := func(e store.Event) string { return e.ID }
		for name, c := range map[string]struct {
			f     store.EventFilter
			want  []string
			total int
		}{
			"all":     {store.EventFilter{}, all, 3},
			"page":    {store.EventFilter{Page: store.Page{Number: 2, Size: 2}}, all[2:], 3},
			"partner": {store.EventFilter{PartnerID: "ptn_other"}, all[:1], 1},
			"client":  {store.EventFilter{ClientID: w.client.ID}, all[1:], 2},
			"type":    {store.EventFilter{Type: "nl.other"}, all[:1], 1},
			"id":      {store.EventFilter{CEID: old[0].CEID}, all[2:], 1},
			"from":    {store.EventFilter{From: w.now()}, all[:1], 1},
			"until":   {store.EventFilter{Until: w.now()}, all[1:], 2},
		} {
			t.Run(name, func(t *testing.T) { listed(t, id, c.want, c.total)(w.db.Events(w.ctx, c.f)) })
		}
		rows, _, err := w.db.Events(w.ctx, store.EventFilter{})
		same(t, rows[0].Data == nil && rows[0].Attributes != nil, err, true)
	})
}

// Rules: IDEM-07, IDEM-16, IDEM-X04, E2, E8.
func TestInsertKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key := func(client, name, body string) store.IdempotencyKey {
			return store.IdempotencyKey{
				ClientID: client, Operation: "publish", Key: name, Fingerprint: []byte{1, 2}, StatusCode: 202,
				ResponseBody: []byte(body), CreatedAt: w.now(), ExpiresAt: w.in(time.Hour),
			}
		}
		insert := func(want []string, keys ...store.IdempotencyKey) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				fresh, err := tx.InsertKeys(w.ctx, keys)
				same(t, slices.Sorted(maps.Keys(fresh)), err, want)
				return err
			})
		}
		stored := func(body string) {
			t.Helper()
			got, err := w.db.Key(w.ctx, "cli_a", "publish", "k")
			same(t, string(got.ResponseBody), err, body)
		}
		first := key("cli_a", "k", "first")
		insert([]string{"cli_a publish k", "cli_b publish k"}, first, key("cli_b", "k", ""), key("cli_a", "k", "twice in a call"))
		got, err := w.db.Key(w.ctx, "cli_a", "publish", "k")
		same(t, got, err, first)
		insert(nil, key("cli_a", "k", "again"))
		stored("first")
		w.clock.Advance(time.Hour - time.Microsecond)
		insert(nil, key("cli_a", "k", "a moment too early"))
		stored("first")
		w.clock.Advance(time.Microsecond)
		insert([]string{first.Name()}, key("cli_a", "k", "replaced"))
		stored("replaced")
		insert([]string{"cli_c publish k"}, key("cli_a", "k", "one of two"), key("cli_c", "k", "the other"))
		stored("replaced")
		w.write(func(tx *store.Tx) error {
			return tx.SetKeyAnswer(w.ctx, "cli_a", "publish", "k", []byte("known before"))
		})
		stored("known before")
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.SetKeyAnswer(w.ctx, "cli_a", "publish", "none", nil) })
		got, err = w.db.Key(w.ctx, "cli_a", "other", "k")
		missing(t, got, err)
	})
}
