package outbox

import (
	"slices"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// An event that is for some partners goes to them and the own organisation alone: at acceptance, when it is offered again
// later, also on purpose and by an administrator, and in what is counted before. Retention removes it as any other.
//
// Rules: EDU-07, EDU-18.
func TestAudienceIsWhoGetsAnEvent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		names := map[string]string{}
		add := func(name string, s store.Subscription) store.Subscription {
			names[s.ID] = name
			return s
		}
		own := add("own", c.subscribe(c.own.ID, "nl.a"))
		north, south := add("north", c.partner("North", "nl.a")), add("south", c.partner("South", "nl.a"))
		tests := []struct {
			id       string
			audience store.Audience
			want     []string
		}{
			{"all", "", []string{"north", "own", "south"}},
			{"one", store.OnlyFor(north.PartnerID), []string{"north", "own"}},
			{"two", store.OnlyFor(south.PartnerID, north.PartnerID), []string{"north", "own", "south"}},
			{"nobody", store.OnlyFor(), []string{"own"}},
		}
		for _, tt := range tests {
			s := c.submission(c.own.ID, true, "nl.a", tt.id)
			s.Audience = tt.audience
			r, err := c.eng.Accept(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := c.eng.Accept(t.Context(), c.submission(c.own.ID, true, "nl.a", tt.id)); err != nil || !again.Events[0].Duplicate {
				t.Errorf("%s again, for all: %+v, %v", tt.id, again, err)
			}
			e, err := db.Event(t.Context(), r.Events[0].EventID)
			if got := c.receivers(r, names); err != nil || !slices.Equal(got, tt.want) || e.Audience != tt.audience {
				t.Errorf("%s, for %q, went to %v, want %v (%v)", tt.id, e.Audience, got, tt.want, err)
			}
		}
		late := c.subscribe(south.PartnerID, "nl.a")
		for _, mode := range []string{ReplayMissing, ReplayAll} {
			r := Replay{Mode: mode, SubscriptionIDs: []string{late.ID}}
			p, err := c.eng.PreviewReplay(t.Context(), anna(), r)
			if j := c.replay(anna(), r); err != nil || p.Total != 2 || j.Done != 2 {
				t.Errorf("%s: counted %d, offered %d, want all and two (%v)", mode, p.Total, j.Done, err)
			}
			c.waitFor(func() bool { return c.count(store.DeliveryPending)+c.count(store.DeliveryRetrying) == 0 })
		}
		if got := c.got(late); len(got) != 2 || len(got["all"]) != 2 || len(got["two"]) != 2 {
			t.Errorf("a later subscription got %v", got)
		}
		if j := c.replay(anna(), Replay{Mode: ReplayAll, SubscriptionIDs: []string{own.ID}}); j.Done != 4 {
			t.Errorf("%d offered to the own organisation again", j.Done)
		}
	})
}

// receivers names the subscriptions that got the first event of a receipt.
func (c *chain) receivers(r Receipt, names map[string]string) []string {
	c.Helper()
	rows, err := c.db.DeliveriesOf(c.Context(), r.Events[0].EventID)
	if err != nil {
		c.Fatal(err)
	}
	var got []string
	for _, d := range rows {
		got = append(got, names[d.SubscriptionID])
	}
	slices.Sort(got)
	return got
}

// A key used for other content is rejected for an event that is not for all, where the quarantine would lose for whom it is.
func TestAudienceIsNotQuarantined(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		first, second := c.submission(c.own.ID, true, "nl.a", "1"), c.submission(c.own.ID, true, "nl.a", "2")
		second.Key, second.Quarantine, second.Audience = first.Key, true, store.OnlyFor()
		second.Fingerprint = []byte(time.Now().String())
		if first.Key == "" {
			t.Fatal("the first has no key")
		}
		if _, err := c.eng.Accept(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if r, err := c.eng.Accept(t.Context(), second); err == nil {
			t.Errorf("answered %+v", r)
		}
	})
}
