package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/contracts/contract"
	"schakel/store"
	"schakel/web"
)

// TestIssueTeller: each change of an issue is told once, also when the program stops before it was told, to the partner whose endpoint
// it is and the own organisation alone, as the document says (guarantee G7).
func TestIssueTeller(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	north := approvedPartner(t, p, "North")
	at := store.Endpoint{PartnerID: north, Name: "Enrolments", Kind: store.EndpointPull, Status: store.EndpointActive}
	write := func(fn func(tx *store.Tx) error) {
		t.Helper()
		must(t, p.db.Write(ctx, fn))
	}
	write(func(tx *store.Tx) error { return tx.InsertEndpoint(ctx, &at) })
	fails := func(eventType string) {
		write(func(tx *store.Tx) error {
			d := store.Delivery{ID: "dlv_1", PartnerID: north, EndpointID: at.ID, EventType: eventType, Cause: "http-503", Detail: "It failed."}
			return tx.RecordIssues(ctx, []store.Outcome{{Delivery: d}})
		})
	}
	var told []event.Event
	teller := p.issueTeller(quiet())
	var busy error
	teller.accept = func(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
		if busy != nil {
			return outbox.Receipt{}, busy
		}
		if s.Audience != store.OnlyFor(north) || !s.FromOwn {
			t.Errorf("told to %q", s.Audience)
		}
		told = append(told, s.Events...)
		return outbox.Receipt{}, nil
	}
	fails("nl.example.enrolled")
	rows, _, err := p.db.Issues(ctx, store.IssueFilter{})
	must(t, err)
	id := rows[0].ID
	busy = context.DeadlineExceeded
	if err := teller.turn(ctx); err == nil {
		t.Error("a failure was not told")
	}
	busy = nil
	write(func(tx *store.Tx) error { return tx.AcknowledgeIssue(ctx, id, "Ada") })
	must(t, teller.turn(ctx))
	must(t, teller.turn(ctx))
	write(func(tx *store.Tx) error { return tx.ResolveIssue(ctx, id, "Ada") })
	fails("nl.schakel.issue.resolved.v1") // its event fails: that is no news
	must(t, teller.turn(ctx))
	fails("nl.example.enrolled")
	must(t, teller.turn(ctx))

	types := issueEventsDescribed(t)
	var got []string
	for _, e := range told {
		got = append(got, e.Type)
		var data issueChanged
		must(t, json.Unmarshal(e.Data, &data))
		if !slices.Contains(types, e.Type) || e.Subject != id || data.IssueID != id || data.Endpoint != "Enrolments" || data.Cause != "http-503" || data.URL == "" {
			t.Errorf("event %+v, described are %v", e, types)
		}
	}
	want := []string{"nl.schakel.issue.opened.v1", "nl.schakel.issue.acknowledged.v1", "nl.schakel.issue.resolved.v1", "nl.schakel.issue.reopened.v1"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if len(types) != len(issueTypes())+1 {
		t.Errorf("described are %v", types)
	}
}

// issueEventsDescribed lists the event types of the contract.
func issueEventsDescribed(t *testing.T) (types []string) {
	t.Helper()
	docs := web.OwnDocuments()
	doc := docs[slices.IndexFunc(docs, func(d registry.OwnDocument) bool { return d.ID == "schakel-issue-events" })]
	described, _, err := contract.Parse(doc.Content, contract.Limits{})
	must(t, err)
	for _, known := range described.EventTypes() {
		types = append(types, known.Type)
	}
	return types
}

// TestStuckTeller: what became dead at an endpoint while its issue is open is told once at each moment that people are told, with counts, to
// the partner and the own organisation alone, also when the program stops before it was told or a node tells it again.
func TestStuckTeller(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	must(t, p.engine.Start(ctx))
	t.Cleanup(func() { must(t, p.engine.Stop(ctx)) })
	north := approvedPartner(t, p, "North")
	at := store.Endpoint{PartnerID: north, Name: "Enrolments", Kind: store.EndpointPull, Status: store.EndpointActive}
	write := func(fn func(tx *store.Tx) error) {
		t.Helper()
		must(t, p.db.Write(ctx, fn))
	}
	write(func(tx *store.Tx) error { return tx.InsertEndpoint(ctx, &at) })
	die := func(eventType string) {
		d := store.Delivery{PartnerID: north, EndpointID: at.ID, SubscriptionID: "sub_1", EventID: "evt_1", EventType: eventType, Status: store.DeliveryPending}
		write(func(tx *store.Tx) error {
			d.ID, d.KeyExpiresAt, d.DueAt, d.LeaseOwner = tx.NewID("dlv"), tx.Now, tx.Now, "a"
			return tx.InsertDeliveries(ctx, []store.Delivery{d})
		})
		write(func(tx *store.Tx) error {
			o := store.Outcome{Delivery: d, Lease: store.LeaseOf(&d), Attempt: store.Attempt{DeliveryID: d.ID, Number: 1, StartedAt: tx.Now}}
			o.Delivery.Status, o.Delivery.Reason, o.Delivery.Cause = store.DeliveryDead, "gone", "http-410"
			return errors.Join(tx.Complete(ctx, []store.Outcome{o}), tx.RecordIssues(ctx, []store.Outcome{o}))
		})
	}
	notice := func() { // as the engine does when people are mailed
		write(func(tx *store.Tx) error {
			rows, err := tx.DeliveryNotices(ctx, tx.Now, tx.Now, 10)
			for _, n := range rows {
				err = errors.Join(err, tx.DeliveryNoticed(ctx, n, true))
			}
			return err
		})
	}
	teller := p.issueTeller(quiet())
	var told []deliveriesStuck
	var receipts []outbox.Accepted
	busy := false
	teller.accept = func(ctx context.Context, s outbox.Submission) (outbox.Receipt, error) {
		receipt, err := p.engine.Accept(ctx, s)
		if e := s.Events[0]; e.Type == typeStuck {
			var data deliveriesStuck
			must(t, json.Unmarshal(e.Data, &data))
			told, receipts = append(told, data), append(receipts, receipt.Events...)
			if s.Audience != store.OnlyFor(north) || e.Subject != at.ID || !strings.HasPrefix(e.ID, at.ID+"-dead-") {
				t.Errorf("told %+v to %q", e, s.Audience)
			}
			if busy {
				return receipt, context.DeadlineExceeded // the program ends before it notes that
			}
		}
		return receipt, err
	}
	turn := func(want int) {
		t.Helper()
		if err := teller.turn(ctx); (err != nil) != busy {
			t.Error(err)
		}
		if len(told) != want {
			t.Errorf("told %d times, want %d", len(told), want)
		}
	}
	for range 3 {
		die("nl.example.enrolled")
	}
	turn(0)
	notice()
	busy = true
	turn(1)
	busy = false
	turn(2)
	if receipts[0].EventID != receipts[1].EventID {
		t.Errorf("told as two events: %+v", receipts)
	}
	turn(2)
	die("nl.example.enrolled") // its issue is open since long
	notice()
	turn(3)
	for _, about := range []string{typeStuck, "nl.schakel.issue.opened.v1"} {
		die(about)
		notice()
		turn(3)
	}
	first, last := told[0], told[2]
	if first.Deliveries != 3 || last.Deliveries != 4 || len(first.Causes) != 1 || first.Causes[0].Reason != "gone" || first.Causes[0].Deliveries != 3 || first.More ||
		first.Endpoint != "Enrolments" || first.PartnerID != north || first.Status != store.DeliveryDead || first.DeliveryID == "" || first.FirstAt.IsZero() ||
		!strings.HasSuffix(first.URL, "/events/v1/deliveries?endpointId="+at.ID+"&status=dead") {
		t.Errorf("told %+v and %+v", first, last)
	}
	if !slices.Contains(issueEventsDescribed(t), typeStuck) || receipts[2].EventID == receipts[1].EventID {
		t.Errorf("receipts %+v", receipts)
	}
	die("nl.example.enrolled")
	notice()
	write(func(tx *store.Tx) error {
		rows, _, err := p.db.Deliveries(ctx, store.DeliveryFilter{EndpointID: at.ID, Statuses: []string{store.DeliveryDead}, Page: store.Page{Number: 1, Size: 100}})
		for _, d := range rows {
			_, failed := tx.Discard(ctx, d.ID, "not needed any more")
			err = errors.Join(err, failed)
		}
		return err
	})
	turn(3) // nothing is dead any more
	turn(3)
}
