package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

func (w *world) newJob(action string) store.ResendJob {
	w.t.Helper()
	j := store.ResendJob{PartnerID: w.partner.ID, Action: action, Filter: "{}", CreatedBy: "Anna"}
	w.write(func(tx *store.Tx) error { return tx.InsertResendJob(w.ctx, &j) })
	return j
}

func TestReplayParts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, other := w.newJob("replay"), w.newJob("replay")
		part := func(job, subscription string) store.ReplayPart {
			return store.ReplayPart{
				JobID: job, SubscriptionID: subscription, EndpointID: "ept_1", PartnerID: w.partner.ID, Since: w.now(), Status: store.JobRunning, Total: 7, TotalMore: true,
			}
		}
		a, b := part(j.ID, "sub_a"), part(j.ID, "sub_b")
		w.write(func(tx *store.Tx) error {
			return tx.InsertReplayParts(w.ctx, []store.ReplayPart{b, a, part(other.ID, "sub_a")})
		})
		w.fails(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertReplayParts(w.ctx, []store.ReplayPart{a}) })
		rows, err := w.db.ReplayParts(w.ctx, j.ID)
		same(t, rows, err, []store.ReplayPart{a, b})
		a.Status, a.Reason, a.Done, a.Refused, a.Cursor = store.JobDone, "ended", 5, 1, "evt_9"
		w.write(func(tx *store.Tx) error { return tx.UpdateReplayPart(w.ctx, &a) })
		got, err := w.db.ReplayPart(w.ctx, j.ID, "sub_a")
		same(t, got, err, a)
		got, err = w.db.ReplayPart(w.ctx, other.ID, "sub_a")
		same(t, got, err, part(other.ID, "sub_a"))
		gone := part("rsd_none", "sub_a")
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.UpdateReplayPart(w.ctx, &gone) })
	})
}

func TestEventsIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		start := w.now()
		var events []store.Event
		for i, kind := range []string{"nl.a", "nl.b", "nl.a", "nl.a"} {
			w.clock.Advance(time.Minute)
			w.write(func(tx *store.Tx) error {
				e := w.event(tx.NewID("evt"))
				e.CEType, e.CESubject, e.Test = kind, []string{"s1", "s1", "s2", ""}[i], i == 3
				events = append(events, e)
				_, err := tx.InsertEvents(w.ctx, []store.Event{e})
				return err
			})
		}
		id := func(i int) string { return events[i].ID }
		for name, c := range map[string]struct {
			span store.EventSpan
			want []string
		}{
			"all but tests":  {store.EventSpan{}, []string{id(0), id(1), id(2)}},
			"type":           {store.EventSpan{Types: []string{"nl.a", "nl.c"}}, []string{id(0), id(2)}},
			"subject":        {store.EventSpan{Subject: "s1"}, []string{id(0), id(1)}},
			"ids":            {store.EventSpan{IDs: []string{id(2), id(0), id(3)}}, []string{id(0), id(2)}},
			"from":           {store.EventSpan{From: events[1].AcceptedAt}, []string{id(1), id(2)}},
			"until":          {store.EventSpan{Until: events[1].AcceptedAt}, []string{id(0)}},
			"just after":     {store.EventSpan{From: store.At(events[1].AcceptedAt.Add(time.Microsecond))}, []string{id(2)}},
			"after":          {store.EventSpan{AfterID: id(0), From: start}, []string{id(1), id(2)}},
			"after and from": {store.EventSpan{AfterID: id(0), From: events[2].AcceptedAt}, []string{id(2)}},
		} {
			rows, err := w.db.EventsIn(w.ctx, c.span, 10)
			got := make([]string, len(rows))
			for i, e := range rows {
				got[i] = e.ID
				if e.Data != nil || string(e.Attributes) == "" {
					t.Errorf("%s: data %q, attributes %q", name, e.Data, e.Attributes)
				}
			}
			t.Run(name, func(t *testing.T) { same(t, got, err, c.want) })
		}
		rows, err := w.db.EventsIn(w.ctx, store.EventSpan{}, 2)
		same(t, len(rows), err, 2)
		found, err := w.db.EventIDs(w.ctx, []string{id(1), events[0].CEID, events[1].CEID, "unknown"})
		same(t, found, err, []string{id(0), id(1)})
		found, err = w.db.EventIDs(w.ctx, nil)
		same(t, found, err, []string(nil))
		w.write(func(tx *store.Tx) error {
			there, err := tx.LockEvents(w.ctx, []string{id(0), "evt_none"})
			same(t, there, err, map[string]bool{id(0): true})
			there, err = tx.LockEvents(w.ctx, nil)
			same(t, there, err, map[string]bool{})
			return nil
		})
	})
}

func TestReplayedDeliveries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		j := w.newJob("replay")
		first, err := w.db.Delivery(w.ctx, ids[0])
		same(t, first.ReplayOf, err, "")
		rows, err := w.db.DeliveriesFor(w.ctx, w.subscription.ID, []string{first.EventID, "evt_none"})
		same(t, len(rows), err, 1)
		same(t, [4]string{rows[0].ID, rows[0].EventID, rows[0].Status, rows[0].IdempotencyKey}, nil, [4]string{ids[0], first.EventID, "pending", first.IdempotencyKey})
		rows, err = w.db.DeliveriesFor(w.ctx, "sub_other", []string{first.EventID})
		same(t, len(rows), err, 0)
		rows, err = w.db.DeliveriesFor(w.ctx, w.subscription.ID, nil)
		same(t, len(rows), err, 0)
		w.write(func(tx *store.Tx) error {
			if err := tx.MarkReplayed(w.ctx, j.ID, nil); err != nil {
				return err
			}
			return tx.MarkReplayed(w.ctx, j.ID, ids[:2])
		})
		w.set(ids[1], `status = 'delivered'`)
		n, err := w.db.ReplaysWaiting(w.ctx, w.endpoint.ID)
		same(t, n, err, 1)
		n, err = w.db.ReplaysWaiting(w.ctx, "ept_other")
		same(t, n, err, 0)
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertHanded(w.ctx, []store.Handed{{SubscriptionID: w.subscription.ID, Identity: "a"}, {SubscriptionID: "sub_other", Identity: "b"}})
			return err
		})
		before, err := w.db.HandedBefore(w.ctx, w.subscription.ID, []string{"a", "b"})
		same(t, before, err, map[string]bool{"a": true})
		before, err = w.db.HandedBefore(w.ctx, w.subscription.ID, nil)
		same(t, before, err, map[string]bool{})
		listed(t, deliveryID, []string{ids[1], ids[0]}, 2)(w.db.Deliveries(w.ctx, store.DeliveryFilter{ReplayOf: j.ID}))
	})
}

// Two nodes that replay the same events wait for each other, so that the second sees what the first made.
func TestLockedEventsWait(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		events := w.newEvents(2)
		ids := []string{events[0].ID, events[1].ID}
		locked, passed, second := make(chan struct{}), make(chan struct{}), make(chan int, 1)
		go func() {
			<-locked
			seen := -1
			err := w.db.Write(w.ctx, func(tx *store.Tx) error {
				if _, err := tx.LockEvents(w.ctx, ids); err != nil {
					return err
				}
				close(passed)
				rows, err := tx.DeliveriesFor(w.ctx, w.subscription.ID, ids)
				seen = len(rows)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			second <- seen
		}()
		w.write(func(tx *store.Tx) error {
			if _, err := tx.LockEvents(w.ctx, ids); err != nil {
				return err
			}
			close(locked)
			select { // the time only gives a second that does not wait the chance to show it
			case <-passed:
				t.Error("the second did not wait")
			case <-time.After(200 * time.Millisecond):
			}
			return tx.InsertDeliveries(w.ctx, []store.Delivery{delivery(tx.NewID("dlv"), ids[0], w.subscription, tx.Now)})
		})
		same(t, <-second, nil, 1)
	})
}

func TestPruneJobs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		end := func(j store.ResendJob) {
			j.Status, j.FinishedAt = store.JobDone, w.now()
			w.write(func(tx *store.Tx) error { return tx.UpdateResendJob(w.ctx, &j) })
		}
		running := w.newJob("resend")
		var old []store.ResendJob
		for range 5 {
			j := w.newJob("replay")
			old = append(old, j)
			w.write(func(tx *store.Tx) error {
				return tx.InsertReplayParts(w.ctx, []store.ReplayPart{{JobID: j.ID, SubscriptionID: "sub_a", Status: "done"}, {JobID: j.ID, SubscriptionID: "sub_b", Status: "done"}})
			})
			end(j)
		}
		w.clock.Advance(time.Hour)
		young := w.newJob("discard")
		end(young)
		prune := func(limit int) int64 {
			return w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
				return tx.PruneJobs(w.ctx, store.At(w.now().Add(-time.Minute)), cursor, limit)
			}, limit)
		}
		same(t, prune(3), nil, 15) // five jobs with two parts each
		same(t, prune(3), nil, 0)
		rows, _, err := w.db.ResendJobs(w.ctx, store.JobFilter{Everybody: true})
		same(t, len(rows), err, 2)
		same(t, []string{rows[0].ID, rows[1].ID}, nil, []string{young.ID, running.ID})
		parts, err := w.db.ReplayParts(w.ctx, old[0].ID)
		same(t, len(parts), err, 0)
	})
}

func TestResendJobLists(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.newJob("resend"), w.newJob("replay")
		admin := store.ResendJob{Action: "discard", Filter: "{}"}
		w.write(func(tx *store.Tx) error { return tx.InsertResendJob(w.ctx, &admin) })
		id := func(j store.ResendJob) string { return j.ID }
		for _, c := range []struct {
			f    store.JobFilter
			want []string
		}{
			{store.JobFilter{}, []string{admin.ID}},
			{store.JobFilter{Everybody: true}, []string{admin.ID, b.ID, a.ID}},
			{store.JobFilter{PartnerID: w.partner.ID}, []string{b.ID, a.ID}},
			{store.JobFilter{PartnerID: w.partner.ID, Actions: []string{"resend"}}, []string{a.ID}},
			{store.JobFilter{PartnerID: w.partner.ID, Status: "done"}, []string{}},
		} {
			listed(t, id, c.want, len(c.want))(w.db.ResendJobs(w.ctx, c.f))
		}
	})
}

func TestDeliveryGroups(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved, eventType)
		w.newDeliveries(w.subscription, 3)
		ids := w.newDeliveries(other, 2)
		w.set(ids[0], `status = 'dead', event_type = 'nl.x'`)
		rows, err := w.db.GroupDeliveries(w.ctx, store.DeliveryFilter{})
		theirs := store.DeliveryGroup{PartnerID: w.own.ID, EndpointID: other.EndpointID, SubscriptionID: other.ID, Count: 1}
		dead, pending := theirs, theirs
		dead.EventType, pending.EventType = "nl.x", eventType
		want := []store.DeliveryGroup{{PartnerID: w.partner.ID, EndpointID: w.endpoint.ID, SubscriptionID: w.subscription.ID, EventType: eventType, Count: 3}, pending, dead}
		same(t, rows, err, want)
		rows, err = w.db.GroupDeliveries(w.ctx, store.DeliveryFilter{Statuses: []string{"dead"}})
		same(t, rows, err, []store.DeliveryGroup{dead})
		n, err := w.db.CountListed(w.ctx, store.DeliveryFilter{})
		same(t, n, err, 5)
		n, err = w.db.CountListed(w.ctx, store.DeliveryFilter{Statuses: []string{"dead"}})
		same(t, n, err, 1)
	})
}

func TestLongListsAreCountedUpToABound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.million(store.ListBound + 500)
		rows, total, err := w.db.Deliveries(w.ctx, store.DeliveryFilter{Page: store.Page{Number: 401, Size: 26}})
		same(t, [2]int{len(rows), total}, err, [2]int{26, store.ListBound + 1})
		_, total, err = w.db.Deliveries(w.ctx, store.DeliveryFilter{Statuses: []string{store.DeliveryDead}, Page: store.Page{Number: 1, Size: 5}})
		same(t, total, err, 102)
	})
}
