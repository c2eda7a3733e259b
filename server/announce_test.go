package main

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/contracts/contract"
	"schakel/server/cli/clitest"
	"schakel/store"
	"schakel/web"
)

// announced keeps the events that were handed in, each once, as the engine does.
type announced struct {
	events map[string]event.Event
	to     map[string]store.Audience // by contract
	fail   error
}

func (a *announced) accept(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
	if a.fail != nil {
		return outbox.Receipt{}, a.fail
	}
	for _, e := range s.Events {
		a.events[e.ID], a.to[e.Subject] = e, s.Audience
	}
	return outbox.Receipt{}, nil
}

// TestAnnouncer: each change of a version is told once, also when the program stops
// before it was told, to those who may see the contract: all partners, those named
// and the one that owns it, or the own organisation alone.
//
// Rules: EDU-06d, EDU-07.
func TestAnnouncer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := inDir(t.TempDir())
	p, err := build(ctx, cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	heard := &announced{events: map[string]event.Event{}, to: map[string]store.Audience{}}
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
	named, owner := approvedPartner(t, p, "North"), approvedPartner(t, p, "South")
	want := map[string]store.Audience{"schools": "", "public": "", "hidden": store.OnlyFor(), "named": store.OnlyFor(named), "owned": store.OnlyFor(named, owner), "own": store.OnlyFor(owner)}
	for id, visibility := range map[string]string{
		"schools": store.VisibilityPartners, "public": store.VisibilityPublic, "hidden": store.VisibilityInternal,
		"named": store.VisibilityNamed, "owned": store.VisibilityNamed, "own": store.VisibilityInternal,
	} {
		in := contracts.ContractInput{ID: id, Kind: "openapi", Title: "Schools", Visibility: visibility}
		if visibility == store.VisibilityNamed {
			in.PartnerIDs = []string{named}
		}
		_, err := p.registry.Contracts.Create(ctx, admin, in)
		must(t, err)
		if id == "owned" || id == "own" {
			owned(t, p, id, owner)
		}
		draft, err := p.registry.Contracts.Upload(ctx, admin, id, contracts.Upload{Content: []byte(clitest.GoodContract)})
		must(t, err)
		_, err = p.registry.Contracts.Publish(ctx, admin, id, "1.0.0", contracts.PublishInput{Digest: draft.Digest})
		must(t, err)
	}
	heard.fail = context.DeadlineExceeded // the engine is busy
	if err := first.turn(ctx); err == nil {
		t.Error("a failure was not told")
	}
	heard.fail = nil
	must(t, first.turn(ctx))
	must(t, fresh().turn(ctx)) // after a crash
	if len(heard.events) != len(want) || !maps.Equal(heard.to, want) {
		t.Fatalf("heard %d events, for %v, want %v", len(heard.events), heard.to, want)
	}
	_, err = p.registry.Contracts.Deprecate(ctx, admin, "schools", "1.0.0", time.Time{}, "use another")
	must(t, err)
	_, err = p.registry.Contracts.Withdraw(ctx, admin, "schools", "1.0.0", "for the test")
	must(t, err)
	must(t, first.turn(ctx))
	var told []string
	described, _, err := contract.Parse(web.OwnDocuments()[0].Content, contract.Limits{})
	must(t, err)
	for _, e := range heard.events {
		if e.Type != described.EventTypes()[0].Type || e.Time == "" {
			t.Errorf("event %+v", e)
		}
		if e.Subject == "schools" {
			told = append(told, string(e.Data))
		}
	}
	for _, status := range []string{"published", "deprecated", "withdrawn"} {
		if !strings.Contains(strings.Join(told, " "), `"status":"`+status+`"`) {
			t.Errorf("%s is not told in %q", status, told)
		}
	}
}

// approvedPartner adds a partner that is approved.
func approvedPartner(t *testing.T, p *program, name string) string {
	t.Helper()
	row := store.Partner{Name: name, Status: store.PartnerApproved}
	must(t, p.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &row) }))
	return row.ID
}

// owned gives a contract to a partner.
func owned(t *testing.T, p *program, id, partnerID string) {
	t.Helper()
	row, err := p.db.Contract(t.Context(), id)
	must(t, err)
	row.OwnerPartnerID = partnerID
	must(t, p.db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateContract(t.Context(), &row) }))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
