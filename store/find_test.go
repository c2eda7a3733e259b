package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// Any name of an event finds its deliveries, in lists and for jobs, and the issues that they last failed for.
func TestFindByAnyID(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		long := strings.Repeat("æ", 150)
		events := []store.Event{w.event("evt_01KKNTQ2CN9JSEQSG3008TDXRA"), w.event("evt_01KKNTQ2CN9JSEQSG3008TDXRB"), w.event("evt_01KKNTQ2CN9JSEQSG3008TDXRC")}
		events[0].CEID, events[0].Correlation, events[0].Audience = "ce-1", "order-7", store.OnlyFor(w.partner.ID)
		events[1].Correlation, events[1].CESubject = long+"1", "pupil/42"
		events[2].Correlation = long + "2"
		rows := make([]store.Delivery, len(events))
		out := store.AMQPMessage{
			Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPAcknowledged, MessageID: "mid-1", MsgID: "msg-1", CorrelationID: "cor-1",
			ConversationID: "con-1", EventID: events[0].ID,
		}
		answer := store.AMQPMessage{Direction: store.AMQPIn, Kind: store.AMQPAppRec, Status: store.AMQPMatched, MessageID: "mid-2", MsgID: "msg-2"}
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, events)
			for i := range rows {
				rows[i] = delivery(tx.NewID("dlv"), events[i].ID, w.subscription, tx.Now)
				rows[i].Cause = []string{"dns", "tls", "timeout"}[i]
			}
			err = errors.Join(err, tx.InsertDeliveries(w.ctx, rows), tx.InsertAMQPMessage(w.ctx, &out))
			answer.ReferenceID = out.ID
			return errors.Join(err, tx.InsertAMQPMessage(w.ctx, &answer), tx.RecordIssues(w.ctx, []store.Outcome{{Delivery: rows[0]}, {Delivery: rows[1]}, {Delivery: rows[2]}}))
		})
		for _, d := range rows {
			w.set(d.ID, `cause = ?`, d.Cause)
		}
		gives(t, events[0])(w.db.Event(w.ctx, events[0].ID))
		for name, want := range map[string][]int{
			rows[0].ID: {0}, events[0].ID: {0}, "ce-1": {0}, "order-7": {0}, "mid-1": {0}, "msg-1": {0}, "cor-1": {0}, "con-1": {0}, out.ID: {0},
			"mid-2": {0}, "msg-2": {0}, answer.ID: {0}, long + "1": {1}, long + "2": {2}, long: {}, "evt_1": {}, "order-8": {}, "": {0, 1, 2},
		} {
			f := store.DeliveryFilter{Page: store.Page{Number: 1, Size: 10}}
			f.Find(name)
			ids, causes := []string{}, map[string]bool{}
			for _, i := range want {
				ids, causes[rows[i].Cause] = append(ids, rows[i].ID), true
			}
			found, total, err := w.db.Deliveries(w.ctx, f)
			same(t, total, err, len(want))
			for _, d := range found {
				same(t, causes[d.Cause], nil, true)
			}
			job, err := w.db.DeliveryIDs(w.ctx, f, 10)
			same(t, append([]string{}, job...), err, ids)
			issues, total, err := w.db.Issues(w.ctx, store.IssueFilter{Named: name, Page: f.Page})
			same(t, total, err, len(want))
			for _, i := range issues {
				same(t, causes[i.Cause], nil, true)
			}
		}
		issues, _, err := w.db.Issues(w.ctx, store.IssueFilter{Subject: "pupil/42", Page: store.Page{Number: 1, Size: 10}})
		same(t, len(issues), err, 1)
		for _, f := range []store.IssueFilter{
			{Named: issues[0].ID}, {Named: w.endpoint.ID, Cause: "tls"}, {Named: events[1].ID, Subject: "pupil/42"}, {Named: rows[1].ID, PartnerID: w.partner.ID},
		} {
			f.Page = store.Page{Number: 1, Size: 10}
			gives2(t, issues)(w.db.Issues(w.ctx, f))
			f.PartnerID = "ptn_other"
			_, total, err := w.db.Issues(w.ctx, f)
			same(t, total, err, 0)
		}
		_, total, err := w.db.Issues(w.ctx, store.IssueFilter{Named: events[0].ID, Subject: "pupil/42"})
		same(t, total, err, 0)
	})
}

func gives2(t *testing.T, want []store.Issue) func([]store.Issue, int, error) {
	t.Helper()
	return func(got []store.Issue, _ int, err error) {
		t.Helper()
		same(t, got, err, want)
	}
}

// A list of what very many events share is read part by part, and in the end has each delivery and event once: the event that the others are named
// after too, and what was replayed of an old one.
func TestPartsOfWhatManyEventsShare(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const many = 2*store.PartBound + 500
		events, rows := make([]store.Event, many), make([]store.Delivery, many+1)
		at := w.now().Add(-many * time.Second)
		for i := range events {
			events[i] = w.event(store.IDAt("evt", at.Add(time.Duration(i)*time.Second)))
			events[i].AcceptedAt = store.At(at.Add(time.Duration(i) * time.Second))
			events[i].CESubject, events[i].Correlation = "school/1", "nightly"
			rows[i] = delivery(store.IDAt("dlv", at.Add(time.Duration(i)*time.Second)), events[i].ID, w.subscription, w.now())
		}
		events[0].CEID, events[0].Correlation = "nightly", ""
		rows[many] = delivery(store.IDAt("dlv", w.now().Time), events[1].ID, w.subscription, w.now())
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, events)
			return errors.Join(err, tx.InsertDeliveries(w.ctx, rows))
		})
		_, write := w.db.Pools()
		_, err := write.ExecContext(w.ctx, `ANALYZE`) // a planner that knows of no rows reads them all for each; Optimize does this a moment later
		noErr(t, err)
		for _, f := range []store.DeliveryFilter{{CEID: "nightly"}, {Subject: "school/1"}, {CEID: "nightly", Subject: "school/1", PartnerID: w.partner.ID}} {
			met, parts := map[string]bool{}, 0
			for f.Page = (store.Page{Number: 1, Size: 1000}); ; f.Page.Number++ {
				l, err := w.db.DeliveryList(w.ctx, f)
				noErr(t, err)
				for _, d := range l.Rows {
					same(t, met[d.ID], nil, false)
					met[d.ID] = true
				}
				if f.Page.Number*f.Page.Size < l.Total {
					continue
				} else if parts++; l.Older == "" {
					break
				}
				f.BeforeID, f.Page.Number = l.Older, 0
			}
			same(t, len(met), nil, len(rows))
			same(t, parts, nil, 3)
			n, err := w.db.CountDeliveries(w.ctx, store.DeliveryFilter{CEID: f.CEID, Subject: f.Subject})
			same(t, n, err, len(rows))
		}
		for _, f := range []store.EventFilter{{CEID: "nightly"}, {Subject: "school/1"}} {
			listed := 0
			for f.Page = (store.Page{Number: 1, Size: 10}); ; {
				l, err := w.db.EventList(w.ctx, f)
				noErr(t, err)
				f.Before = l.Older
				if listed += l.Total; l.Older == "" {
					break
				}
			}
			same(t, listed, nil, many)
			f.Before, f.Until = "", events[100].AcceptedAt
			l, err := w.db.EventList(w.ctx, f)
			same(t, l.Total, err, 100)
			same(t, l.Older, nil, "")
		}
	})
}

// A part of more deliveries than page numbers reach goes on within it, and then to the next: a client that follows the links comes to an end.
func TestPartsOfManyDeliveriesEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const many, of = 2*store.PartBound + 10, 6 // deliveries of each event but those of the newest part, which have one
		events, rows := make([]store.Event, many), make([]store.Delivery, 0, many*of)
		at := w.now().Add(-many * time.Second)
		for i := range events {
			moment := at.Add(time.Duration(i) * time.Second)
			events[i] = w.event(store.IDAt("evt", moment))
			events[i].Correlation = "nightly"
			for n := range of {
				if n == 0 || i < many-store.PartBound {
					rows = append(rows, delivery(store.IDAt("dlv", moment.Add(time.Duration(n)*time.Millisecond)), events[i].ID, w.subscription, w.now()))
				}
			}
		}
		w.write(func(tx *store.Tx) error {
			_, err := tx.InsertEvents(w.ctx, events)
			for part := range slices.Chunk(rows, 1000) {
				err = errors.Join(err, tx.InsertDeliveries(w.ctx, part))
			}
			return err
		})
		_, write := w.db.Pools()
		_, err := write.ExecContext(w.ctx, `ANALYZE`)
		noErr(t, err)
		f, met := store.DeliveryFilter{CEID: "nightly", Page: store.Page{Number: 1, Size: 2500}}, map[string]bool{}
		for range 30 { // more lists than it takes
			l, err := w.db.DeliveryList(w.ctx, f)
			noErr(t, err)
			for _, d := range l.Rows {
				same(t, met[d.ID], nil, false)
				met[d.ID] = true
			}
			switch end := f.Page.Number * f.Page.Size; {
			case l.Total > store.ListBound && end >= store.ListBound:
				f.BeforeID, f.Page.Number = l.Next(), 1
			case end < l.Total:
				f.Page.Number++
			case l.Older != "":
				f.BeforeID, f.Page.Number = l.Older, 1
			default:
				same(t, len(met), nil, len(rows))
				return
			}
		}
		t.Errorf("%d of %d deliveries, and no end", len(met), len(rows))
	})
}
