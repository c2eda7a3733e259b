package outbox

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// Rules: EDU-N08.
func TestFiltersNarrowWhatASubscriptionGets(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		tests := []struct{ name, filters string }{
			{"everything", ``},
			{"one subject", `[{"exact":{"subject":"4711"}}]`},
			{"another subject", `[{"exact":{"subject":"4712"}}]`},
			{"source", `[{"prefix":{"source":"urn:nld:oin:"}}]`},
			{"not this source", `[{"not":{"prefix":{"source":"urn:nld:oin:"}}}]`},
			{"extension", `[{"any":[{"exact":{"grade":"7"}},{"exact":{"grade":"8"}}]}]`},
		}
		want := map[string]bool{"everything": true, "one subject": true, "source": true, "extension": true}
		names := map[string]string{}
		for _, tt := range tests {
			s := c.partner(tt.name, "nl.a")
			names[s.ID] = tt.name
			c.write(func(tx *store.Tx) error {
				s, err := tx.Subscription(t.Context(), s.ID)
				if err != nil {
					return err
				}
				s.Filters = tt.filters
				return tx.UpdateSubscription(t.Context(), &s)
			})
		}
		ev, err := event.ParseJSON([]byte(`{"specversion":"1.0","id":"1","source":"urn:nld:oin:1","type":"nl.a","subject":"4711","grade":7}`), event.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.eng.Accept(t.Context(), Submission{ClientID: "cli_a", PartnerID: c.own.ID, FromOwn: true, Events: []event.Event{ev}})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := db.DeliveriesOf(t.Context(), r.Events[0].EventID)
		if err != nil || len(rows) != len(want) {
			t.Errorf("%d deliveries, want %d (%v)", len(rows), len(want), err)
		}
		for _, d := range rows {
			if !want[names[d.SubscriptionID]] {
				t.Errorf("it went to %q", names[d.SubscriptionID])
			}
		}
	})
}

// BenchmarkFanout finds the one subscription out of many that wants the subject of an event.
func BenchmarkFanout(b *testing.B) {
	for _, subscriptions := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("subscriptions=%d", subscriptions), func(b *testing.B) {
			x := &index{byType: make(map[string]*targets)}
			for i := range subscriptions {
				row := store.FanoutTarget{EventType: "nl.a", Version: "1", SubscriptionID: uuid.NewString(), Filters: fmt.Sprintf(`[{"exact":{"subject":"s%d"}}]`, i)}
				if err := x.add(row); err != nil {
					b.Fatal(err)
				}
			}
			ev, err := event.ParseJSON([]byte(`{"specversion":"1.0","id":"1","source":"urn:nld:oin:1","type":"nl.a","subject":"s0"}`), event.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			row := &store.Event{ContractVersions: "1.0.0"}
			b.ReportAllocs()
			for b.Loop() {
				if len(x.match(&ev, row, true)) != 1 {
					b.Fatal("not one target")
				}
			}
		})
	}
}
