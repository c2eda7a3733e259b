package services

import (
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
)

// A key is shown once, reads as its partner, and ends when it is revoked, when its
// day comes, or with its partner.
//
// Rules: EDU-06e, EDU-N06.
func TestReadKeys(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor, _, stranger := w.twoPartners(t)
		key, plain, err := w.ReadKeys.Create(ctx, actor, "", identity.NewReadKey{Name: "Renovate", Expires: w.clock.Now().Add(48 * time.Hour)})
		must(t, err)
		if !strings.HasPrefix(plain, "schr_") || strings.Contains(key.SecretHash, plain) || !strings.HasSuffix(plain, key.Hint) {
			t.Errorf("key %q is kept as %+v", plain, key)
		}
		works := func(what string, want bool) {
			t.Helper()
			_, owner, err := w.ReadKeys.Authenticate(ctx, plain)
			if want && (err != nil || owner.ID != p.ID) {
				t.Errorf("%s: %v, %s", what, err, owner.ID)
			}
			if !want {
				wantCode(t, what, registry.CodeNotFound, err)
			}
		}
		works("new", true)
		rows, err := w.ReadKeys.List(ctx, actor.Scope(), "")
		must(t, err)
		if len(rows) != 1 || rows[0].LastUsedAt.IsZero() {
			t.Errorf("after use: %+v", rows)
		}
		_, _, err = w.ReadKeys.Authenticate(ctx, plain+"x")
		wantCode(t, "unknown", registry.CodeNotFound, err)

		// Another partner neither sees nor ends it (guarantee G7).
		rows, err = w.ReadKeys.List(ctx, stranger.Scope(), p.ID)
		if err != nil || len(rows) != 0 {
			t.Errorf("a stranger sees %v, %v", rows, err)
		}
		wantCode(t, "a stranger revokes", registry.CodeNotFound, w.ReadKeys.Revoke(ctx, stranger, key.ID, ""))
		_, _, err = w.ReadKeys.Create(ctx, stranger, p.ID, identity.NewReadKey{Name: "Mine"})
		wantCode(t, "a stranger makes one", registry.CodeNotFound, err)

		w.clock.Advance(49 * time.Hour)
		works("over", false)
		key, plain, err = w.ReadKeys.Create(ctx, w.admin, p.ID, identity.NewReadKey{Name: "By the administrator"})
		must(t, err)
		works("made by the administrator", true)
		must(t, w.Partners.Suspend(ctx, w.admin, p.ID, "for the test"))
		works("partner suspended", false)
		must(t, w.Partners.Resume(ctx, w.admin, p.ID))
		works("partner back", true)
		must(t, w.ReadKeys.Revoke(ctx, actor, key.ID, "it leaked"))
		works("revoked", false)
		wantCode(t, "revoked twice", registry.CodeConflict, w.ReadKeys.Revoke(ctx, actor, key.ID, ""))
		if got := w.lastSentence(t); !strings.Contains(got, "revoked read-only key") {
			t.Errorf("told as %s", got)
		}
	})
}

func TestReadKeyRefused(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		for what, in := range map[string]identity.NewReadKey{
			"no name": {}, "past": {Name: "Key", Expires: w.clock.Now().Add(-time.Hour)},
			"too far": {Name: "Key", Expires: w.clock.Now().AddDate(6, 0, 0)}, "two lines": {Name: "a\nb"},
		} {
			_, _, err := w.ReadKeys.Create(t.Context(), w.admin, "", in)
			wantCode(t, what, registry.CodeInvalid, err)
		}
		key, _, err := w.ReadKeys.Create(t.Context(), w.admin, "", identity.NewReadKey{Name: "Own pipeline"})
		if err != nil || key.PartnerID != w.own.ID || identity.ReadKeyWorks(store.ReadKey{RevokedAt: key.CreatedAt}, w.clock.Now()) {
			t.Errorf("own key: %+v, %v", key, err)
		}
	})
}
