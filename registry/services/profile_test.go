package services

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/profile"
	"schakel/store"
)

func TestProfileSave(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first, err := w.Profile.Current(ctx)
		must(t, err)
		if first.Version != 0 || first.RequireKey != registry.PolicyRequire {
			t.Errorf("at first %+v", first)
		}
		_, _, err = w.Profile.Save(ctx, registry.Actor{Kind: registry.ActorAccount, PartnerID: "par_1"}, profile.ProfileChange{})
		wantCode(t, "a partner", registry.CodeForbidden, err)
		values := first.Values()
		values["idempotency.require_key"], values["idempotency.ttl"] = "warn", "200h"
		saved, changes, err := w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: values, Reason: "an old system"})
		must(t, err)
		if saved.Version != 1 || len(changes) != 2 || saved.UpdatedBy != w.admin.Name {
			t.Errorf("saved %+v, %v", saved, changes)
		}
		if now, err := w.Profile.Current(ctx); err != nil || now.RequireKey != registry.PolicyWarn || now.KeyLifetime != 200*time.Hour {
			t.Errorf("this node works by %+v, %v", now, err)
		}
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: values})
		wantCode(t, "what was looked at before", registry.CodeConflict, err)
		again, none, err := w.Profile.Save(ctx, w.admin, profile.ProfileChange{Version: 1, Values: values})
		if err != nil || len(none) != 0 || again.Version != 1 {
			t.Errorf("nothing changed: %+v, %v, %v", again, none, err)
		}
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Version: 1, Values: map[string]string{"idempotency.ttl": "1h", "no.such": "x"}})
		wantCode(t, "wrong values", registry.CodeInvalid, err)
		strict, _, err := w.Profile.Save(ctx, w.admin, profile.ProfileChange{Version: 1, Values: saved.StrictValues()})
		if err != nil || strict.SpecVersions != registry.PolicyRefuse {
			t.Errorf("strict: %+v, %v", strict, err)
		}
		if _, changes, err := w.Profile.Compare(ctx, strict.StrictValues()); err != nil || len(changes) != 0 {
			t.Errorf("strict is not strict yet: %v, %v", changes, err)
		}
		w.wantProfileAudit(t)
	})
}

func (w *world) wantProfileAudit(t *testing.T) {
	t.Helper()
	rows, _, err := w.Audit.List(t.Context(), registry.Scope{All: true}, store.AuditFilter{ObjectKind: "profile"})
	must(t, err)
	if len(rows) != 2 {
		t.Fatalf("%d entries", len(rows))
	}
	first := rows[1]
	for _, words := range []string{`"idempotency.require_key":"require"`, `"idempotency.require_key":"warn"`, `"version":1`} {
		if !strings.Contains(first.Detail, words) {
			t.Errorf("the entry lacks %s: %s", words, first.Detail)
		}
	}
	want := w.admin.Name + " changed “Idempotency-Key on events” from “Required: without a key the answer is 400” to “Asked for: without a key the answer carries a warning” and “Lifetime of a key” from “7 days” to “8 d 8 h”: “an old system”"
	if got := registry.Sentence(t.Context(), first); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestProfileOfAnotherNode: a change is seen within two seconds, and while the database is away the last profile holds.
func TestProfileOfAnotherNode(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other := profile.NewProfiles(w.db, w.clock.Now, registry.Profile{})
		_, err := other.Current(ctx)
		must(t, err)
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: map[string]string{"events.batch": "off"}})
		must(t, err)
		if seen, _ := other.Current(ctx); seen.Batches != registry.PolicyOn {
			t.Error("it is read at every request")
		}
		w.clock.Advance(2*time.Second + time.Millisecond)
		seen, err := other.Current(ctx)
		if err != nil || seen.Batches != registry.PolicyOff {
			t.Errorf("after two seconds %s, %v", seen.Batches, err)
		}
		must(t, w.db.Close())
		w.clock.Advance(time.Hour)
		if seen, err := other.Current(ctx); err != nil || seen.Batches != registry.PolicyOff {
			t.Errorf("without a database: %v", err)
		}
		if _, err := profile.NewProfiles(w.db, w.clock.Now, registry.Profile{}).Current(ctx); err == nil {
			t.Error("a profile that was never read is taken for granted")
		}
	})
}

// TestProfileConcurrentSave: of changes made at the same time to the same version one is kept, and the others are told.
func TestProfileConcurrentSave(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		const many = 8
		errs := make([]error, many)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				values := map[string]string{"sending.max_attempts": strconv.Itoa(10 + i)}
				_, _, errs[i] = w.Profile.Save(t.Context(), w.admin, profile.ProfileChange{Values: values})
			})
		}
		all.Wait()
		kept := 0
		for _, err := range errs {
			if err == nil {
				kept++
				continue
			}
			wantCode(t, "a lost change", registry.CodeConflict, err)
		}
		if kept != 1 {
			t.Errorf("%d changes were kept", kept)
		}
	})
}

// TestProfileFollowsFlags: where nobody chose, the installation counts.
func TestProfileFollowsFlags(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, _, err := w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: map[string]string{"events.batch": "off"}})
		must(t, err)
		flagged, err := profile.NewProfiles(w.db, w.clock.Now, registry.Profile{MaxBatchEvents: 7}).Load(ctx)
		if err != nil || flagged.MaxBatchEvents != 7 || flagged.Batches != registry.PolicyOff {
			t.Errorf("%+v, %v", flagged, err)
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			return tx.SetSetting(ctx, "profile", `{"version":3,"values":{"of.tomorrow":"x","events.batch":"off"}}`)
		}))
		if later, err := w.Profile.Load(ctx); err != nil || later.Version != 3 || later.Batches != registry.PolicyOff {
			t.Errorf("a setting of another version: %+v, %v", later, err)
		}
	})
}

// TestProfileFileValues: a wrong value in a file is told with its line.
func TestProfileFileValues(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		file, err := profile.ParseProfile([]byte("schakel-profile: 1\nidempotency:\n  ttl: 1h\nevents:\n  batch: perhaps\n"))
		must(t, err)
		_, _, err = w.Profile.Compare(t.Context(), file.Values)
		bad, ok := file.Problems(err)
		if !ok || len(bad.Problems) != 2 {
			t.Fatalf("got %v", err)
		}
		want := "Line 3: idempotency.ttl: Choose from 24h to 672h; 1h is outside that."
		if got := bad.Problems[0].String(); got != want {
			t.Errorf("got %s", got)
		}
		if got := bad.Problems[1]; got.Line != 5 || got.Key != "events.batch" {
			t.Errorf("got %s", got)
		}
		if _, ok := file.Problems(errors.New("another")); ok {
			t.Error("another error is taken for one of the file")
		}
	})
}
