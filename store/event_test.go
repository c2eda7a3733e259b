package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
			gives(t, want)(w.db.Event(w.ctx, want.ID))
		}
		got, err := w.db.Event(w.ctx, empty.ID)
		same(t, len(got.Data), err, 0)
		got, err = w.db.Event(w.ctx, "evt_none")
		missing(t)(got, err)
		gives(t, full.ID)(w.db.EventIDByIdentity(w.ctx, full.ClientID, full.CESource, full.CEID))
		missing(t)(w.db.EventIDByIdentity(w.ctx, bare.ClientID, full.CESource, full.CEID))
	})
}

// The same event of the same client is one event, however it is offered (guarantee G4).
//
// Rules: CE-05.
func TestInsertEventsTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.event("evt_1")
		again, otherClient, otherSource := first, first, first
		first.Audience = store.OnlyFor("ptn_a")
		again.ID, again.Data = "evt_2", []byte("other") // which is for others too, and still not the first
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

func TestEventNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		named, bare, other := w.event("evt_1"), w.event("evt_2"), w.event("evt_3")
		named.CESubject, bare.CESubject, other.CESubject = "enrolment/1", "", "enrolment/3"
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, []store.Event{named, bare, other})
			return err
		})
		names, err := w.db.EventNames(w.ctx, []string{"evt_1", "evt_1", "evt_2", "evt_none"})
		same(t, names, err, map[string]store.EventName{"evt_1": {named.CEID, "enrolment/1"}, "evt_2": {ID: bare.CEID}})
		names, err = w.db.EventNames(w.ctx, nil)
		same(t, len(names), err, 0)
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
		gives(t, first)(w.db.Key(w.ctx, "cli_a", "publish", "k"))
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
		missing(t)(w.db.Key(w.ctx, "cli_a", "other", "k"))
	})
}

func TestRecentEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		events := make([]store.Event, 6)
		for i, id := range []string{"evt_1", "evt_2", "evt_3", "evt_4", "evt_5", "evt_6"} {
			events[i] = w.event(id)
			events[i].PartnerID, events[i].CEType, events[i].AcceptedAt = "ptn_own", "nl.a", w.in(time.Duration(i)*time.Second)
		}
		events[1].PartnerID = "ptn_other"
		events[2].CEType = "nl.b"
		events[3].Test = true
		w.write(func(tx *store.Tx) error { _, err := tx.InsertEvents(w.ctx, events); return err })
		tests := []struct {
			origins []store.EventOrigin
			limit   int
			want    string
		}{
			{nil, 10, ""},
			{[]store.EventOrigin{{PartnerID: "ptn_own"}}, 10, ""},
			{[]store.EventOrigin{{PartnerID: "ptn_own", Types: []string{"nl.a"}}}, 10, "651"},
			{[]store.EventOrigin{{PartnerID: "ptn_own", Types: []string{"nl.a", "nl.b"}}}, 3, "653"},
			{[]store.EventOrigin{{Types: []string{"nl.a"}}}, 10, "6521"},
			{[]store.EventOrigin{{Types: []string{"nl.a"}, Since: events[4].AcceptedAt}}, 10, "65"},
			{[]store.EventOrigin{{PartnerID: "ptn_own", Types: []string{"nl.b"}}, {PartnerID: "ptn_other", Types: []string{"nl.a"}}}, 10, "32"},
		}
		for _, tt := range tests {
			rows, err := w.db.RecentEvents(w.ctx, tt.origins, tt.limit)
			got := ""
			for _, r := range rows {
				got += r.ID[len("evt_"):]
				if len(r.Data) > 0 || len(r.Attributes) == 0 {
					t.Errorf("%+v", r)
				}
			}
			same(t, got, err, tt.want)
		}
	})
}

// Rules: EDU-07.
func TestAudience(t *testing.T) {
	t.Parallel()
	tests := []struct {
		audience   store.Audience
		has, hasNo []string
	}{
		{"", []string{"ptn_1", "ptn_2"}, nil},
		{store.OnlyFor(), nil, []string{"ptn_1", "ptn", ""}},
		{store.OnlyFor("ptn_1"), []string{"ptn_1"}, []string{"ptn_11", "ptn_", "tn_1", "ptn_2"}},
		{store.OnlyFor("ptn_1", "ptn_2"), []string{"ptn_1", "ptn_2"}, []string{"ptn_3", "ptn_1,ptn"}},
		{store.Audience("").AddressedTo(8765), []string{"ptn_1", "ptn_2"}, nil},
		{store.OnlyFor("ptn_1").AddressedTo(8765), []string{"ptn_1"}, []string{"ptn_2", "8765", "her:8765"}},
		{store.OnlyFor().AddressedTo(8765), nil, []string{"ptn_1", ""}},
	}
	for _, tt := range tests {
		for _, id := range append(slices.Clone(tt.has), tt.hasNo...) {
			if got := tt.audience.Has(id, false); got != slices.Contains(tt.has, id) || !tt.audience.Has(id, true) {
				t.Errorf("%q has %q: %t", tt.audience, id, got)
			}
		}
		if named := tt.audience.Partners(); tt.audience.Everyone() != (tt.hasNo == nil) || tt.hasNo != nil && !slices.Equal(named, tt.has) {
			t.Errorf("%q names %v", tt.audience, named)
		}
	}
}

// A business message reaches the health party that it is addressed to and no other; endpoints of other kinds have no HER-id.
//
// Rules: AMQP-109.
func TestAudienceOfBusinessMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		audience store.Audience
		herID    int64
		reaches  []int64
	}{
		{"", 0, []int64{0, 876, 8765}},
		{store.OnlyFor("ptn_1"), 0, []int64{0, 876, 8765}},
		{store.Audience("").AddressedTo(8765), 8765, []int64{0, 8765}},
		{store.OnlyFor("ptn_1", "ptn_2").AddressedTo(876).AddressedTo(8765), 8765, []int64{0, 8765}},
	} {
		for _, to := range []int64{0, 876, 8765} {
			if got := tt.audience.Reaches(to); got != slices.Contains(tt.reaches, to) || tt.audience.HerID() != tt.herID {
				t.Errorf("%q reaches %d: %t, and is addressed to %d", tt.audience, to, got, tt.audience.HerID())
			}
		}
	}
}

// An event is kept with whom it is for, beside others in one insert, and previews ask for it.
//
// Rules: EDU-07.
func TestAudienceOfEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		events := []store.Event{w.event("evt_1"), w.event("evt_2"), w.event("evt_3"), w.event("evt_4")}
		events[1].Audience, events[3].Audience = store.OnlyFor(), store.OnlyFor("ptn_1", "ptn_2").AddressedTo(8765)
		events[2].Audience = store.Audience("").AddressedTo(8765)
		w.write(func(tx *store.Tx) error { _, err := tx.InsertEvents(w.ctx, events); return err })
		again := slices.Clone(events)
		for i := range again { // offered again for somebody else they are the same events
			again[i].ID, again[i].Audience = "evt_again_"+again[i].ID, store.OnlyFor("ptn_3")
		}
		w.write(func(tx *store.Tx) error {
			fresh, err := tx.InsertEvents(w.ctx, again)
			if len(fresh) > 0 {
				t.Errorf("%d events were written again", len(fresh))
			}
			return err
		})
		for _, want := range events {
			got, err := w.db.Event(w.ctx, want.ID)
			if err != nil || got.Audience != want.Audience || string(got.Data) != string(want.Data) || got.ClientID != want.ClientID {
				t.Errorf("%s is for %q, want %q (%v)", want.ID, got.Audience, want.Audience, err)
			}
		}
		for partner, want := range map[string][]string{"": {"evt_4", "evt_3", "evt_2", "evt_1"}, "ptn_1": {"evt_4", "evt_3", "evt_1"}, "ptnx1": {"evt_3", "evt_1"}, "ptn_": {"evt_3", "evt_1"}} {
			rows, err := w.db.RecentEvents(w.ctx, []store.EventOrigin{{Types: []string{eventType}, For: partner}}, 10)
			var got []string
			for _, r := range rows {
				got = append(got, r.ID)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("recent events for %q: %v, want %v (%v)", partner, got, want, err)
			}
		}
	})
}

// Who publishes what: clients with types, parties with processes by which messages come in, and the ways between partners.
func TestWhoPublishes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := store.Client{PartnerID: w.partner.ID, Name: "C", AuthMethod: "private_key_jwt", Status: store.ClientActive, PublishTypes: []string{"nl.*"}}
		idle := store.Client{PartnerID: w.partner.ID, Name: "D", AuthMethod: "private_key_jwt", Status: store.ClientActive}
		w.write(func(tx *store.Tx) error {
			noErr(t, tx.InsertClient(w.ctx, &c))
			return tx.InsertClient(w.ctx, &idle)
		})
		clients, err := w.db.PublishingClients(w.ctx)
		same(t, len(clients), err, 1)
		same(t, clients[0].ID, nil, c.ID)
		receiving, err := w.db.AMQPReceiving(w.ctx)
		same(t, len(receiving), err, 0)
		ways := store.NewPassages([]store.Route{{FromPartnerID: "a", ToPartnerID: "b", EventType: "nl.x"}})
		for _, tt := range []struct {
			from, to, eventType string
			fromOwn, toOwn, may bool
		}{
			{"a", "b", "nl.x", false, false, true},
			{"b", "a", "nl.x", false, false, false},
			{"a", "b", "nl.y", false, false, false},
			{"o", "b", "nl.y", true, false, true},
			{"a", "o", "nl.y", false, true, true},
			{"a", "a", "nl.x", false, false, false},
		} {
			same(t, ways.May(tt.from, tt.fromOwn, tt.to, tt.toOwn, tt.eventType), nil, tt.may)
		}
		w.write(func(tx *store.Tx) error {
			noErr(t, tx.InsertLink(w.ctx, []byte("h"), "confirm-email", "ptn_1", w.in(1000000000)))
			return tx.RevokeLinks(w.ctx, "confirm-email", "ptn_1")
		})
		_, err = w.db.LinkSubject(w.ctx, []byte("h"), "confirm-email", w.now())
		if err != store.ErrNotFound {
			t.Errorf("a revoked link: %v", err)
		}
	})
}

// The newest events are found by the primary key, however many there are: pages of approvals read a bounded number.
func TestEventsBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		now := time.Now()
		since := store.At(now.Add(-30 * 24 * time.Hour))
		var rows []store.Event
		for i := range 3_000 {
			at := now.Add(time.Duration(i-2_999) * time.Minute)
			e := w.event(store.IDAt("evt", at))
			e.CEID, e.AcceptedAt, e.Test = fmt.Sprint("e-", i), store.At(at), i == 2_998
			if i%2 == 1 {
				e.CEType = "nl.other"
			}
			rows = append(rows, e)
		}
		w.write(func(tx *store.Tx) error { _, err := tx.InsertEvents(w.ctx, rows); return err })
		w.fails(errStop, func(tx *store.Tx) error {
			recorder := tx.Record()
			got, back, err := tx.EventsBack(w.ctx, []string{eventType}, since, 100)
			if err != nil || len(got) != 49 || got[0].CEID != "e-2996" || !back.Equal(rows[2_900].AcceptedAt.Time) {
				t.Errorf("%d events back to %s (%v)", len(got), back, err)
			}
			plan := w.plan(tx, recorder.Statements)
			if strings.Contains(plan, "TEMP B-TREE") && strings.Contains(plan, "SCAN event") {
				t.Errorf("reads all events:\n%s", plan)
			}
			if w.db.Dialect() == store.Postgres {
				if read := w.scannedOf(tx, "event", recorder.Statements); read > 250 {
					t.Errorf("%d rows read:\n%s", read, plan)
				}
			}
			return errStop
		})
		if got, back, err := w.db.EventsBack(w.ctx, []string{eventType}, since, 4_000); err != nil || len(got) != 1_499 || !back.IsZero() {
			t.Errorf("all: %d events back to %s (%v)", len(got), back, err)
		}
	})
}
