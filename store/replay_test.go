package store_test

import (
	"errors"
	"fmt"
	"slices"
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
		gives(t, []store.ReplayPart{a, b})(w.db.ReplayParts(w.ctx, j.ID))
		a.Status, a.Reason, a.Done, a.Refused, a.Cursor = store.JobDone, "ended", 5, 1, "evt_9"
		w.write(func(tx *store.Tx) error { return tx.UpdateReplayPart(w.ctx, &a) })
		gives(t, a)(w.db.ReplayPart(w.ctx, j.ID, "sub_a"))
		gives(t, part(other.ID, "sub_a"))(w.db.ReplayPart(w.ctx, other.ID, "sub_a"))
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
		gives(t, []string{id(0), id(1)})(w.db.EventIDs(w.ctx, []string{id(1), events[0].CEID, events[1].CEID, "unknown"}))
		gives(t, []string(nil))(w.db.EventIDs(w.ctx, nil))
		w.write(func(tx *store.Tx) error {
			gives(t, map[string]bool{id(0): true})(tx.LockEvents(w.ctx, []string{id(0), "evt_none"}))
			gives(t, map[string]bool{})(tx.LockEvents(w.ctx, nil))
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
		gives(t, 1)(w.db.ReplaysWaiting(w.ctx, w.endpoint.ID))
		gives(t, 0)(w.db.ReplaysWaiting(w.ctx, "ept_other"))
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertHanded(w.ctx, []store.Handed{{SubscriptionID: w.subscription.ID, Identity: "a"}, {SubscriptionID: "sub_other", Identity: "b"}})
			return err
		})
		gives(t, map[string]bool{"a": true})(w.db.HandedBefore(w.ctx, w.subscription.ID, []string{"a", "b"}))
		gives(t, map[string]bool{})(w.db.HandedBefore(w.ctx, w.subscription.ID, nil))
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
		gives(t, 5)(w.db.CountListed(w.ctx, store.DeliveryFilter{}))
		gives(t, 1)(w.db.CountListed(w.ctx, store.DeliveryFilter{Statuses: []string{"dead"}}))
		gives(t, 3)(w.db.CountListedTo(w.ctx, store.DeliveryFilter{}, 2)) // one more than was asked for: there are more
		gives(t, 1)(w.db.CountListedTo(w.ctx, store.DeliveryFilter{Statuses: []string{"dead"}}, 2))
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

// markResent notes that a job sent deliveries again.
func (w *world) markResent(jobID string, ids ...string) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		for _, id := range ids {
			d, err := tx.Delivery(w.ctx, id)
			if err == nil {
				err = tx.MarkResent(w.ctx, d, jobID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func TestJobOutcome(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, other := w.newJob("resend"), w.newJob("resend")
		outcome := func(id string, want store.JobOutcome) {
			t.Helper()
			gives(t, want)(w.db.JobOutcome(w.ctx, id))
		}
		states := []string{
			store.DeliveryDelivered, store.DeliveryDelivered, store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead, store.DeliveryPending,
			store.DeliveryRetrying, store.DeliveryRetrying, store.DeliveryDiscarded,
		}
		ids := w.newDeliveries(w.subscription, len(states))
		others := w.newDeliveries(w.subscription, 2)
		w.newDeliveries(w.subscription, 1) // of no job
		outcome(j.ID, store.JobOutcome{})
		w.markResent(j.ID, ids...)
		w.markResent(other.ID, others...)
		outcome(j.ID, store.JobOutcome{Pending: 9})
		for i, s := range states {
			w.set(ids[i], `status = ?, due_at = NULL`, s)
		}
		outcome(j.ID, store.JobOutcome{Delivered: 3, Failed: 2, Pending: 3, Discarded: 1})
		outcome(other.ID, store.JobOutcome{Pending: 2})
		outcome("rsd_none", store.JobOutcome{})
		outcome("", store.JobOutcome{})
	})
}

func TestMarkResent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, later := w.newJob("resend"), w.newJob("resend")
		ids := w.newDeliveries(w.subscription, 3)
		w.markResent(j.ID, ids[:2]...)
		w.markResent(later.ID, ids[1]) // takes it over
		for i, want := range []string{j.ID, later.ID, ""} {
			d, err := w.db.Delivery(w.ctx, ids[i])
			same(t, d.ReplayOf, err, want)
		}
		listed(t, deliveryID, []string{ids[0]}, 1)(w.db.Deliveries(w.ctx, store.DeliveryFilter{ReplayOf: j.ID}))
		gives(t, store.JobOutcome{Pending: 1, Moved: 1})(w.db.JobOutcome(w.ctx, j.ID))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.MarkResent(w.ctx, store.Delivery{ID: "dlv_none"}, j.ID) })
		replay := w.newJob("replay")
		w.write(func(tx *store.Tx) error { return tx.MarkReplayed(w.ctx, replay.ID, ids) })
		w.write(func(tx *store.Tx) error { return tx.MarkReplayed(w.ctx, replay.ID, ids) }) // again: it moves nothing
		gives(t, store.JobOutcome{Moved: 2})(w.db.JobOutcome(w.ctx, j.ID))
		gives(t, store.JobOutcome{Moved: 1})(w.db.JobOutcome(w.ctx, later.ID))
		gives(t, store.JobOutcome{Pending: 3})(w.db.JobOutcome(w.ctx, replay.ID))
		moves, err := w.db.JobMoves(w.ctx, j.ID)
		same(t, fmt.Sprint(moves), err, fmt.Sprint([]store.JobMove{{JobID: replay.ID, Moved: 1}, {JobID: later.ID, Moved: 1}}))
	})
}

func TestJobEndpoints(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		j, other := w.newJob("resend"), w.newJob("resend")
		endpoints := func(id string, want ...string) {
			t.Helper()
			gives(t, want)(w.db.JobEndpoints(w.ctx, id))
		}
		at := func(status string, n int, job string) (endpoint string, ids []string) {
			s := w.newSubscription(w.newEndpoint(w.partner.ID), store.SubscriptionApproved, eventType)
			ids = w.newDeliveries(s, n)
			w.markResent(job, ids...)
			for _, id := range ids {
				w.set(id, `status = ?`, status)
			}
			return s.EndpointID, ids
		}
		w.newDeliveries(w.subscription, 1) // of no job
		endpoints(j.ID)
		pending, ids := at(store.DeliveryPending, 2, j.ID)
		retrying, _ := at(store.DeliveryRetrying, 1, j.ID)
		for _, s := range []string{store.DeliveryDelivered, store.DeliveryHeld, store.DeliveryDead, store.DeliveryDiscarded} {
			at(s, 1, j.ID)
		}
		others, _ := at(store.DeliveryPending, 1, other.ID)
		want := []string{pending, retrying}
		slices.Sort(want)
		endpoints(j.ID, want...)
		endpoints(other.ID, others)
		endpoints("rsd_none")
		endpoints("")
		w.set(ids[0], `status = 'delivered', due_at = NULL`)
		endpoints(j.ID, want...) // one of two is still to be sent
		w.set(ids[1], `status = 'delivered', due_at = NULL`)
		endpoints(j.ID, retrying)
	})
}

// What a job did is known while it is kept.
func TestJobActions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		resend, replay := store.ResendJob{Action: "resend", Filter: `{}`}, store.ResendJob{Action: "replay", Filter: `{}`}
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.InsertResendJob(w.ctx, &resend), tx.InsertResendJob(w.ctx, &replay))
		})
		gives(t, map[string]string{resend.ID: "resend", replay.ID: "replay"})(w.db.JobActions(w.ctx, []string{resend.ID, replay.ID, "rsd_pruned"}))
		gives(t, map[string]string{})(w.db.JobActions(w.ctx, nil))
	})
}
