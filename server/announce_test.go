package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/contract"
	"schakel/store"
	"schakel/web"
)

// announced keeps the events that were handed in, each once, as the engine does.
type announced struct {
	events map[string]event.Event
	fail   error
}

func (a *announced) accept(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
	if a.fail != nil {
		return outbox.Receipt{}, a.fail
	}
	for _, e := range s.Events {
		a.events[e.ID] = e
	}
	return outbox.Receipt{}, nil
}

// TestAnnouncer: each change of a version that partners may see is told once, also
// when the program stops before it was told; of what only some may see nothing is.
func TestAnnouncer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := inDir(t.TempDir())
	p, err := build(ctx, cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	heard := &announced{events: map[string]event.Event{}}
	fresh := func() *announcer {
		a := p.announcer(quiet())
		a.accept = heard.accept
		return a
	}
	first := fresh()
	if _, err := first.through(ctx); err != nil {
		t.Fatal(err)
	}
	admin := registry.SystemActor()
	for id, visibility := range map[string]string{"schools": store.VisibilityPartners, "hidden": store.VisibilityInternal} {
		_, err := p.registry.Contracts.Create(ctx, admin, registry.ContractInput{ID: id, Kind: "openapi", Title: "Schools", Visibility: visibility})
		must(t, err)
		_, err = p.registry.Contracts.Upload(ctx, admin, id, registry.Upload{Content: []byte(goodContract)})
		must(t, err)
		_, err = p.registry.Contracts.Publish(ctx, admin, id, "1.0.0")
		must(t, err)
	}
	heard.fail = context.DeadlineExceeded // the engine is busy
	if err := first.turn(ctx); err == nil {
		t.Error("a failure was not told")
	}
	heard.fail = nil
	must(t, first.turn(ctx))
	must(t, fresh().turn(ctx)) // after a crash
	if len(heard.events) != 1 {
		t.Fatalf("heard %d events", len(heard.events))
	}
	_, err = p.registry.Contracts.Deprecate(ctx, admin, "schools", "1.0.0", time.Time{}, "use another")
	must(t, err)
	_, err = p.registry.Contracts.Withdraw(ctx, admin, "schools", "1.0.0", "for the test")
	must(t, err)
	must(t, first.turn(ctx))
	var told []string
	docs, err := web.OwnDocuments()
	must(t, err)
	described, _, err := contract.Parse(docs[0].Content, contract.Limits{})
	must(t, err)
	for _, e := range heard.events {
		if e.Type != described.EventTypes()[0].Type || e.Subject != "schools" || e.Time == "" {
			t.Errorf("event %+v", e)
		}
		told = append(told, string(e.Data))
	}
	for _, status := range []string{"published", "deprecated", "withdrawn"} {
		if !strings.Contains(strings.Join(told, " "), `"status":"`+status+`"`) {
			t.Errorf("%s is not told in %q", status, told)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
