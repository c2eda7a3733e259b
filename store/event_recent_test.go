package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

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
