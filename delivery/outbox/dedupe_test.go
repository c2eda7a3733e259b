package outbox

import (
	"context"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// A subscription that asks for it is handed each (source, id) once, whoever sends it and in whatever group, until that is
// forgotten; others get every one. What a person resends is delivered again.
// Rules: EDU-18b, OPEN-07.
func TestRepeatedEventsAreLeftOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		careful, legacy := c.partner("Careful", "nl.a"), c.partner("Legacy", "nl.a")
		c.write(func(tx *store.Tx) error {
			legacy.Dedupe = true
			return tx.UpdateSubscription(t.Context(), &legacy)
		})
		send := func(client string, ids ...string) Receipt {
			s := c.submission(c.own.ID, true, "nl.a", ids...)
			s.ClientID = client
			r, err := c.eng.Accept(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		handed := func(r Receipt, s store.Subscription) (n int) {
			for _, e := range r.Events {
				rows, err := db.DeliveriesOf(t.Context(), e.EventID)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range rows {
					if d.SubscriptionID == s.ID {
						n++
					}
				}
			}
			return n
		}
		first, second := send("cli_a", "1"), send("cli_b", "1", "2")
		if handed(first, legacy) != 1 || handed(second, legacy) != 1 || handed(second, careful) != 2 {
			t.Errorf("legacy got %d and %d, careful %d", handed(first, legacy), handed(second, legacy), handed(second, careful))
		}
		rows, err := db.LeftOutOf(t.Context(), second.Events[0].EventID)
		if err != nil || len(rows) != 1 || rows[0].SubscriptionID != legacy.ID || rows[0].PartnerID != legacy.PartnerID {
			t.Errorf("left out %+v, %v", rows, err)
		}
		c.write(func(tx *store.Tx) error {
			_, err := tx.PruneHanded(t.Context(), store.At(tx.Now.AddDate(0, 0, 1)), "", 500)
			return err
		})
		if third := send("cli_c", "1"); handed(third, legacy) != 1 {
			t.Error("what was forgotten is still left out")
		}
	})
}

// The chain's setting leaves repeats out of every subscription, and two alike in one group of commits too.
func TestRepeatsLeftOutForAll(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	c := newChain(t, db, func(cfg *Config) {
		cfg.Live = func(context.Context) (Policy, error) { return Policy{Dedupe: true}, nil }
	})
	c.partner("North", "nl.a")
	a, b := c.submission(c.own.ID, true, "nl.a", "1"), c.submission(c.own.ID, true, "nl.a", "1")
	a.ClientID, b.ClientID = "cli_a", "cli_b"
	group := []*pending{{Submission: a, done: make(chan struct{})}, {Submission: b, done: make(chan struct{})}}
	c.eng.commit(t.Context(), group)
	if group[0].err != nil || group[1].err != nil {
		t.Fatal(group[0].err, group[1].err)
	}
	if _, n, err := db.Deliveries(t.Context(), store.DeliveryFilter{}); n != 1 || err != nil {
		t.Errorf("%d deliveries, want 1 (%v)", n, err)
	}
}
