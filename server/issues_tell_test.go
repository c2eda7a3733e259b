package main

import (
	"context"
	"encoding/json"
	"slices"
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

	docs := web.OwnDocuments()
	doc := docs[slices.IndexFunc(docs, func(d registry.OwnDocument) bool { return d.ID == "schakel-issue-events" })]
	described, _, err := contract.Parse(doc.Content, contract.Limits{})
	must(t, err)
	var types []string
	for _, known := range described.EventTypes() {
		types = append(types, known.Type)
	}
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
	if len(types) != len(issueTypes()) {
		t.Errorf("described are %v", types)
	}
}
