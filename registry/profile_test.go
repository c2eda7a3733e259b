package registry

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/store"
)

// TestSettingsTable holds the one table of settings against itself.
func TestSettingsTable(t *testing.T) {
	t.Parallel()
	standard, seen := DefaultProfile(), map[string]bool{}
	for _, s := range Settings() {
		value := s.Value(&standard)
		if s.Key == "" || seen[s.Key] || groupIndex(s.Group()) < 0 || s.Title == "" || !strings.HasSuffix(s.Explain, ".") || len(s.Rules) == 0 {
			t.Errorf("%s is not told well", s.Key)
		}
		seen[s.Key] = true
		for _, text := range []string{value, s.Strict} {
			p := standard
			if text == "" {
				continue
			}
			if wrong := s.set(&p, text); wrong != "" || s.check(&p) != "" || s.Value(&p) != text {
				t.Errorf("%s: %q is not taken as it stands: %s %s", s.Key, text, wrong, s.check(&p))
			}
		}
		if s.Choices == nil && (s.Least == "" || s.Most == "" || s.Strict != "" && s.loose == 0) {
			t.Errorf("%s has no bounds or no direction", s.Key)
		}
		if copied := (Profile{}); true {
			s.copy(&copied, &standard)
			if s.Value(&copied) != value {
				t.Errorf("%s is not copied", s.Key)
			}
		}
		if standing := s.Standing(value); standing == StandingRelaxed {
			t.Errorf("%s departs from the profile by default", s.Key)
		}
	}
	if wanted := strictOf(standard); len(changesOf(&wanted, &standard)) != 0 || len(Relaxations(standard)) != 0 {
		t.Errorf("strict and default differ in %v", changesOf(&wanted, &standard))
	}
	lenient := LenientProfile()
	if list := Relaxations(lenient); len(list) != 3 || list[2].Before != AuthPrivateKey || list[2].After != AuthSecretBasic {
		t.Errorf("lenient relaxes %+v", list)
	}
}

func TestSettingStanding(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, value string
		want       Standing
	}{
		{"idempotency.require_key", "require", StandingStrict},
		{"idempotency.require_key", "off", StandingRelaxed},
		{"idempotency.require_key_on_delete", "require", StandingTighter},
		{"idempotency.ttl", "24h", StandingRelaxed},
		{"idempotency.ttl", "200h", StandingTighter},
		{"events.max_event_bytes", "70000", StandingRelaxed},
		{"events.source_policy", "urn-nld-oin", StandingTighter},
		{"events.source_policy", "any", StandingRelaxed},
		{"sending.max_retry_after", "1h", StandingRelaxed},
		{"events.batch", "off", StandingOptional},
		{"sending.retry_waits", "1s", StandingOptional},
	} {
		s, ok := SettingOf(tc.key)
		if got := s.Standing(tc.value); !ok || got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.key, tc.value, got, tc.want)
		}
	}
}

// TestProfileRefusals: each kind of value is refused with what to do about it.
func TestProfileRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ key, value, wants string }{
		{"idempotency.require_key", "maybe", "require, warn, off"},
		{"idempotency.ttl", "23h", "from 24h to 672h"},
		{"idempotency.ttl", "100000h", "from 24h to 672h"},
		{"idempotency.ttl", "soon", "such as 30s"},
		{"idempotency.ttl", "-1h", "such as 30s"},
		{"idempotency.ttl", "9d9d", "such as 30s"},
		{"events.max_event_bytes", "65535", "from 65536"},
		{"events.max_event_bytes", "64KB", "whole number"},
		{"events.max_event_bytes", "2000000", ""},
		{"events.max_batch_bytes", "65537", "from 65538"},
		{"intake.client_rate", "NaN", "Write a number"},
		{"intake.client_rate", "1e3", "Write a number"},
		{"intake.client_rate", "-1", "from 0"},
		{"sending.retry_waits", "5s, x", "such as 5s, 30s"},
		{"sending.retry_waits", "5s, 25h", "25h is outside"},
		{"sending.retry_waits", "", "such as 5s"},
		{"sending.retry_waits", strings.Repeat("5s,", 20) + "5s", "at most 20"},
		{"sending.deadline", "169h", "at most 168h"},
		{"sending.circuit_wait", "20m", ""},
	} {
		_, wrong := profileOf(DefaultProfile(), map[string]string{tc.key: tc.value}, true)
		text := wrong[tc.key]
		if tc.wants == "" {
			text = strings.Join(slices.Collect(mapValues(wrong)), " ")
		}
		if len(wrong) != 1 || text == "" || !strings.Contains(text, tc.wants) {
			t.Errorf("%s %q: %v", tc.key, tc.value, wrong)
		}
	}
}

func mapValues(p problems) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, text := range p {
			if !yield(text) {
				return
			}
		}
	}
}

// TestProfileDays: days are read, and what a flag set stays allowed.
func TestProfileDays(t *testing.T) {
	t.Parallel()
	p, wrong := profileOf(DefaultProfile(), map[string]string{"idempotency.ttl": "8d"}, true)
	if len(wrong) > 0 || p.KeyLifetime != 8*24*time.Hour || valuesOf(&p)["idempotency.ttl"] != "192h" {
		t.Errorf("%v, %v", p.KeyLifetime, wrong)
	}
	short := completed(Profile{KeyLifetime: time.Minute, RetryDeadline: time.Minute})
	if _, wrong := profileOf(short, valuesOf(&short), true); len(wrong) > 0 {
		t.Errorf("the values of the installation are refused: %v", wrong)
	}
}

func TestProfileSave(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first, err := w.Profile.Current(ctx)
		must(t, err)
		if first.Version != 0 || first.RequireKey != PolicyRequire {
			t.Errorf("at first %+v", first)
		}
		_, _, err = w.Profile.Save(ctx, Actor{Kind: ActorAccount, PartnerID: "par_1"}, ProfileChange{})
		wantCode(t, "a partner", CodeForbidden, err)
		values := first.Values()
		values["idempotency.require_key"], values["idempotency.ttl"] = "warn", "200h"
		saved, changes, err := w.Profile.Save(ctx, w.admin, ProfileChange{Values: values, Reason: "an old system"})
		must(t, err)
		if saved.Version != 1 || len(changes) != 2 || saved.UpdatedBy != w.admin.Name {
			t.Errorf("saved %+v, %v", saved, changes)
		}
		if now, err := w.Profile.Current(ctx); err != nil || now.RequireKey != PolicyWarn || now.KeyLifetime != 200*time.Hour {
			t.Errorf("this node works by %+v, %v", now, err)
		}
		_, _, err = w.Profile.Save(ctx, w.admin, ProfileChange{Values: values})
		wantCode(t, "what was looked at before", CodeConflict, err)
		again, none, err := w.Profile.Save(ctx, w.admin, ProfileChange{Version: 1, Values: values})
		if err != nil || len(none) != 0 || again.Version != 1 {
			t.Errorf("nothing changed: %+v, %v, %v", again, none, err)
		}
		_, _, err = w.Profile.Save(ctx, w.admin, ProfileChange{Version: 1, Values: map[string]string{"idempotency.ttl": "1h", "no.such": "x"}})
		wantCode(t, "wrong values", CodeInvalid, err)
		strict, _, err := w.Profile.Save(ctx, w.admin, ProfileChange{Version: 1, Values: saved.StrictValues()})
		if err != nil || len(changesOf(&strict.Profile, ptr(strictOf(strict.Profile)))) != 0 || strict.SpecVersions != PolicyRefuse {
			t.Errorf("strict: %+v, %v", strict, err)
		}
		w.wantProfileAudit(t)
	})
}

func ptr[T any](v T) *T { return &v }

func (w *world) wantProfileAudit(t *testing.T) {
	t.Helper()
	rows, _, err := w.Audit.List(t.Context(), Scope{All: true}, store.AuditFilter{ObjectKind: "profile"})
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
	want := w.admin.Name + " changed Idempotency-Key on events from require to warn and Lifetime of a key from 168h to 200h: “an old system”"
	if got := Sentence(first); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestProfileOfAnotherNode: a change is seen within two seconds, and while the
// database is away the last profile holds.
func TestProfileOfAnotherNode(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other := NewProfiles(w.db, w.clock.Now, Profile{})
		_, err := other.Current(ctx)
		must(t, err)
		_, _, err = w.Profile.Save(ctx, w.admin, ProfileChange{Values: map[string]string{"events.batch": "off"}})
		must(t, err)
		if seen, _ := other.Current(ctx); seen.Batches != PolicyOn {
			t.Error("it is read at every request")
		}
		w.clock.Advance(profileAge + time.Millisecond)
		seen, err := other.Current(ctx)
		if err != nil || seen.Batches != PolicyOff {
			t.Errorf("after two seconds %s, %v", seen.Batches, err)
		}
		must(t, w.db.Close())
		w.clock.Advance(time.Hour)
		if seen, err := other.Current(ctx); err != nil || seen.Batches != PolicyOff {
			t.Errorf("without a database: %v", err)
		}
		if _, err := NewProfiles(w.db, w.clock.Now, Profile{}).Current(ctx); err == nil {
			t.Error("a profile that was never read is taken for granted")
		}
	})
}

// TestProfileConcurrentSave: of changes made at the same time to the same version
// one is kept, and the others are told.
func TestProfileConcurrentSave(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		const many = 8
		errs := make([]error, many)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				values := map[string]string{"sending.max_attempts": strconv.Itoa(10 + i)}
				_, _, errs[i] = w.Profile.Save(t.Context(), w.admin, ProfileChange{Values: values})
			})
		}
		all.Wait()
		kept := 0
		for _, err := range errs {
			if err == nil {
				kept++
				continue
			}
			wantCode(t, "a lost change", CodeConflict, err)
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
		_, _, err := w.Profile.Save(ctx, w.admin, ProfileChange{Values: map[string]string{"events.batch": "off"}})
		must(t, err)
		flagged, err := NewProfiles(w.db, w.clock.Now, Profile{MaxBatchEvents: 7}).Load(ctx)
		if err != nil || flagged.MaxBatchEvents != 7 || flagged.Batches != PolicyOff {
			t.Errorf("%+v, %v", flagged, err)
		}
		must(t, w.db.Write(ctx, func(tx *store.Tx) error {
			return tx.SetSetting(ctx, profileSetting, `{"version":3,"values":{"of.tomorrow":"x","events.batch":"off"}}`)
		}))
		if later, err := w.Profile.Load(ctx); err != nil || later.Version != 3 || later.Batches != PolicyOff {
			t.Errorf("a setting of another version: %+v, %v", later, err)
		}
	})
}
