package store_test

import (
	"slices"
	"testing"

	"schakel/store"
)

// An export hands over each row that its filter selects once, newest first, however many batches that takes.
func TestEachRow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.newSubscription(w.newEndpoint(w.partner.ID), store.SubscriptionApproved, eventType)
		const n = 600 // more than two batches
		ids := w.newDeliveries(s, n)
		slices.Sort(ids)
		slices.Reverse(ids)
		first, err := w.db.Delivery(w.ctx, ids[0])
		noErr(t, err)
		heads, err := w.db.EventHeads(w.ctx, []string{first.EventID, "evt_none"})
		same(t, len(heads), err, 1)
		for name, tt := range map[string]struct {
			filter store.DeliveryFilter
			want   []string
		}{
			"all":        {store.DeliveryFilter{}, ids},
			"partner":    {store.DeliveryFilter{PartnerID: w.partner.ID}, ids},
			"searched":   {store.DeliveryFilter{EventType: eventType}, ids},
			"one":        {store.DeliveryFilter{IDs: ids[:1]}, ids[:1]},
			"an event":   {store.DeliveryFilter{CEID: heads[first.EventID].CEID}, ids[:1]},
			"other":      {store.DeliveryFilter{PartnerID: "ptn_other"}, nil},
			"no subject": {store.DeliveryFilter{Subject: "none"}, nil},
		} {
			var got []string
			err := w.db.EachDelivery(w.ctx, tt.filter, func(rows []store.Delivery) error {
				if len(rows) > 250 {
					t.Errorf("%s: %d rows at once", name, len(rows))
				}
				for _, d := range rows {
					got = append(got, d.ID)
				}
				return nil
			})
			same(t, got, err, tt.want)
		}
		w.write(func(tx *store.Tx) error {
			for range n {
				if err := tx.InsertAudit(w.ctx, store.Audit{Action: "test.done", PartnerID: w.partner.ID}); err != nil {
					return err
				}
			}
			return nil
		})
		seen := map[string]bool{}
		err = w.db.EachAudit(w.ctx, store.AuditFilter{Action: "test.done"}, func(rows []store.Audit) error {
			for _, a := range rows {
				seen[a.ID] = true
			}
			return nil
		})
		same(t, len(seen), err, n)
		none := 0
		noErr(t, w.db.EachIssue(w.ctx, store.IssueFilter{PartnerID: "ptn_other"}, func(rows []store.Issue) error { none += len(rows); return nil }))
		noErr(t, w.db.EachAMQPMessage(w.ctx, store.AMQPFilter{PartnerID: "ptn_other"}, func(rows []store.AMQPMessage) error { none += len(rows); return nil }))
		same(t, none, nil, 0)
	})
}
