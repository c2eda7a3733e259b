package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
)

// TestRotationIsTold: a key that was replaced by schedule is told as an event, once; one that could not be replaced is an alert by mail and event, and over
// when it could.
func TestRotationIsTold(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := build(ctx, inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { _ = p.db.Close() })
	must(t, p.db.Write(ctx, func(tx *store.Tx) error {
		return tx.InsertAccount(ctx, &store.Account{Email: "anna@example.nl", Name: "Anna", Role: store.RoleAdministrator, Status: store.AccountActive})
	}))
	state, err := p.registry.Profile.Current(ctx)
	must(t, err)
	values := state.Values()
	values["tokens.rotate_after"] = "30"
	_, _, err = p.registry.Profile.Save(ctx, registry.SystemActor(), profile.ProfileChange{Version: state.Version, Values: values})
	must(t, err)
	_, pool := p.db.Pools()
	var told []alertData
	now := p.db.Now()
	a := p.alerts(AlertFlags{AlertAfter: 5 * time.Minute}, quiet())
	a.now = func() time.Time { return now }
	a.accept = func(_ context.Context, s outbox.Submission) (outbox.Receipt, error) {
		for _, e := range s.Events {
			var data alertData
			must(t, json.Unmarshal(e.Data, &data))
			told = append(told, data)
		}
		return outbox.Receipt{}, nil
	}
	service := newRotation(p.registry, a, quiet())
	must(t, service.turn(ctx)) // makes nothing: no key is old
	old := func() {
		_, err := pool.ExecContext(ctx, `UPDATE signing_key SET created_at = created_at - ?`, (40 * 24 * time.Hour).Microseconds())
		must(t, err)
	}
	_, err = p.registry.SigningKeys.SigningKeys(ctx)
	must(t, err)
	old()
	must(t, service.turn(ctx))
	must(t, service.turn(ctx))
	if len(told) != 1 || told[0].Code != "rotation-replaced" || told[0].Text == "" || told[0].Remedy == "" {
		t.Fatalf("told %+v, want one rotation-replaced", told)
	}

	old()
	_, err = pool.ExecContext(ctx, `CREATE TRIGGER no_key BEFORE INSERT ON signing_key BEGIN SELECT RAISE(ABORT, 'no room for keys'); END`)
	must(t, err)
	if service.turn(ctx) == nil {
		t.Fatal("a key was replaced")
	}
	step := func() {
		must(t, a.turn(ctx, nil))
		now = now.Add(6 * time.Minute)
		must(t, a.turn(ctx, nil))
	}
	step()
	_, err = pool.ExecContext(ctx, `DROP TRIGGER no_key`)
	must(t, err)
	must(t, service.turn(ctx))
	step()
	var codes []string
	for _, d := range told {
		codes = append(codes, d.Code)
	}
	if want := []string{"rotation-replaced", "rotation-failed", "rotation-replaced", "rotation-failed"}; !slices.Equal(codes, want) {
		t.Errorf("told %q, want %q", codes, want)
	}
	mails, _, err := p.db.Mails(ctx, store.Page{Size: 100})
	must(t, err)
	var subjects []string
	for _, m := range mails {
		subjects = append(subjects, m.Subject)
	}
	slices.Reverse(subjects)
	want := []string{"The settings of the chain collaboration", "Another key signs", "Alert: A key that is due", "Another key signs", "Over: A key that is due"}
	if len(subjects) != len(want) {
		t.Fatalf("mails %q, want %q", subjects, want)
	}
	for i, s := range subjects {
		if !strings.Contains(s, want[i]) {
			t.Errorf("mail %q, want %q", s, want[i])
		}
	}
}
