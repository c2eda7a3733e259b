package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// TestInbox: a test inbox holds its newest messages, newest first, and answers as it is told to; old messages go, or all at once.
func TestInbox(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box := w.endpoint.ID
		w.write(func(tx *store.Tx) error { return tx.SetInboxAnswer(w.ctx, box, store.InboxBusy) })
		e, err := w.db.Endpoint(w.ctx, box)
		same(t, e.InboxAnswer, err, store.InboxBusy)

		var first, last store.InboxMessage
		w.write(func(tx *store.Tx) error {
			for i := range store.MaxInboxMessages + 1 {
				m := store.InboxMessage{EndpointID: box, EventType: "nl.a", Headers: "{}", Body: []byte("{}"), Size: 2, Answer: store.InboxBusy, Findings: store.Strings{"f"}}
				if err := tx.InsertInboxMessage(w.ctx, &m); err != nil {
					return err
				}
				if i == 0 {
					first = m
				}
				last = m
			}
			return nil
		})
		list, err := w.db.InboxMessages(w.ctx, box, w.in(-time.Hour))
		same(t, len(list), err, store.MaxInboxMessages)
		if list[0].ID != last.ID || list[0].Body != nil {
			t.Errorf("the newest is %+v, want %s without its body", list[0], last.ID)
		}
		gives(t, last)(w.db.InboxMessage(w.ctx, box, last.ID))
		missing(t)(w.db.InboxMessage(w.ctx, box, first.ID))
		missing(t)(w.db.InboxMessage(w.ctx, "ept_other", last.ID))

		w.write(func(tx *store.Tx) error {
			gone, err := tx.PruneInbox(w.ctx, w.in(time.Second), "", 10)
			same(t, gone, err, store.Pruned{Rows: 10})
			return tx.ClearInbox(w.ctx, box)
		})
		list, err = w.db.InboxMessages(w.ctx, box, w.in(-time.Hour))
		same(t, len(list), err, 0)
	})
}

// TestCanaries: a job has one canary an endpoint, whose outcome changes, and a reason for each delivery that it could not resend.
func TestCanaries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		j := store.ResendJob{Action: "resend", Status: "running"}
		canary := store.ResendCanary{EndpointID: w.endpoint.ID, DeliveryID: ids[0], Outcome: store.CanaryPending}
		w.write(func(tx *store.Tx) error {
			if err := tx.InsertResendJob(w.ctx, &j); err != nil {
				return err
			}
			canary.JobID = j.ID
			for range 2 { // a second refusal of the same delivery changes nothing
				if err := tx.InsertRefusal(w.ctx, store.ResendRefusal{JobID: j.ID, DeliveryID: ids[1], Reason: "gone"}); err != nil {
					return err
				}
			}
			return tx.InsertCanary(w.ctx, canary)
		})
		canary.Outcome = store.CanaryDelivered
		w.write(func(tx *store.Tx) error { return tx.UpdateCanary(w.ctx, canary) })
		gives(t, []store.ResendCanary{canary})(w.db.ResendCanaries(w.ctx, j.ID))
		gives(t, []store.ResendRefusal{{JobID: j.ID, DeliveryID: ids[1], Reason: "gone"}})(w.db.ResendRefusals(w.ctx, j.ID, store.Page{Number: 1, Size: 10}))
		gives(t, []string{w.endpoint.ID})(w.db.EndpointsOf(w.ctx, store.DeliveryFilter{}))
		gives(t, []string(nil))(w.db.EndpointsOf(w.ctx, store.DeliveryFilter{EndpointID: "ept_none"}))
	})
}
