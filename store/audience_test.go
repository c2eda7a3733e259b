package store_test

import (
	"slices"
	"testing"

	"schakel/store"
)

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

// An event is kept with whom it is for, beside others in one insert, and previews ask for it.
//
// Rules: EDU-07.
func TestAudienceOfEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		events := []store.Event{w.event("evt_1"), w.event("evt_2"), w.event("evt_3"), w.event("evt_4")}
		events[1].Audience, events[3].Audience = store.OnlyFor(), store.OnlyFor("ptn_1", "ptn_2")
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
