package store_test

import (
	"errors"
	"strings"
	"testing"

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
