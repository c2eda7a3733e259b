package services

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/store"
)

const day = 24 * time.Hour

// A key of access tokens is replaced when it is old enough, once though two nodes look at once: the new one is published a day before it signs, tokens
// of the old one stay valid, and the administrators and the audit trail are told.
//
// Rules: SEC-05.
func TestSigningKeysRotateBySchedule(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first, err := w.SigningKeys.SigningKeys(ctx)
		must(t, err)
		issuer, err := token.New(token.Config{
			Issuer: "https://schakel.example", Clients: w.Clients, Replay: w.db, Keys: w.SigningKeys, Now: w.clock.Now, AuthMethods: []string{token.ClientSecretBasic},
		})
		must(t, err)
		turn := func(want int) []token.Key {
			t.Helper()
			failures := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := w.SigningKeys.RotateDue(ctx, 90*day)
					failures <- err
				}()
			}
			must(t, errors.Join(<-failures, <-failures))
			keys, err := w.SigningKeys.SigningKeys(ctx)
			must(t, err)
			if len(keys) != want {
				t.Fatalf("%d keys, want %d", len(keys), want)
			}
			return keys
		}
		w.clock.Advance(88 * day)
		turn(1)
		made, err := w.SigningKeys.RotateDue(ctx, 0)
		if err != nil || made != "" {
			t.Errorf("never made %q, %v", made, err)
		}
		w.clock.Advance(day + time.Minute)
		keys := turn(2)
		if start := w.clock.Now().Add(day); keys[0].CreatedAt.Sub(start).Abs() > time.Second || !keys[1].RetiredAt.Equal(keys[0].CreatedAt) || keys[1].KID != first[0].KID {
			t.Errorf("keys %+v, want another from %s", keys, start)
		}
		must(t, w.SigningKeys.Check(ctx)) // no clock was ahead
		if jwks, err := issuer.JWKS(ctx); err != nil || !strings.Contains(string(jwks), keys[0].KID) || !strings.Contains(string(jwks), keys[1].KID) {
			t.Errorf("published %s, %v", jwks, err)
		}
		if mails := w.mailsTo(t, "admin@example.nl"); len(mails) != 1 || !strings.Contains(mails[0].Subject, "Another key signs access tokens") {
			t.Errorf("mails %+v", mails)
		}
		entries, _, err := w.db.Audits(ctx, store.AuditFilter{Action: registry.ActionSigningKeyMade, ObjectID: keys[0].KID})
		if err != nil || len(entries) != 1 || !strings.Contains(entries[0].Detail, "starts") {
			t.Errorf("audit %+v, %v", entries, err)
		}
		w.clock.Advance(89*day - time.Hour)
		turn(2)
		w.clock.Advance(2 * day)
		turn(3)
		must(t, w.SigningKeys.RotateSigningKey(ctx, w.admin)) // by hand, at once, also before the planned one
		keys, err = w.SigningKeys.SigningKeys(ctx)
		must(t, err)
		if inUse := slices.DeleteFunc(keys, func(k token.Key) bool { return !k.RetiredAt.IsZero() && !k.RetiredAt.After(w.clock.Now()) }); len(inUse) != 1 {
			t.Errorf("in use after a rotation by hand: %+v", inUse)
		}
	})
}

// An Ed25519 key of an endpoint is replaced when it is old enough, both keys sign for a week at least, and its people are mailed; a secret of HMAC stays.
func TestSignKeysRotateBySchedule(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, actor, _, stranger := w.twoPartners(t)
		public, secret := w.endpoint(t, actor), w.endpoint(t, stranger)
		for id, algorithm := range map[string]string{public.ID: store.SignEd25519, secret.ID: store.SignHMAC} {
			_, _, err := w.Endpoints.SetSigning(ctx, w.admin, id, partners.SigningInput{Scheme: store.SignStandard, Algorithm: algorithm, OverlapHours: 1})
			must(t, err)
		}
		keys := func(id string) []partners.SignKey {
			t.Helper()
			e, err := w.db.Endpoint(ctx, id)
			must(t, err)
			all, err := w.Endpoints.SignKeys(e, w.clock.Now())
			must(t, err)
			return all
		}
		before := len(w.mailsTo(t, "anna@noord.example"))
		w.clock.Advance(29 * day)
		due := func(every time.Duration, want int) {
			t.Helper()
			if replaced, err := w.Endpoints.RotateDue(ctx, every); err != nil || len(replaced) != want {
				t.Errorf("replaced %+v, %v, want %d", replaced, err, want)
			}
		}
		due(30*day, 0)
		w.clock.Advance(2 * day)
		due(0, 0)
		if len(keys(public.ID)) != 1 {
			t.Error("a key was replaced before its time")
		}
		due(30*day, 1)
		due(30*day, 0)
		if now := keys(public.ID); len(now) != 2 || now[1].RetiresAt.Sub(w.clock.Now()) != 7*day || len(keys(secret.ID)) != 1 {
			t.Errorf("keys %+v and %+v", now, keys(secret.ID))
		}
		if n := len(w.mailsTo(t, "anna@noord.example")) - before; n != 1 {
			t.Errorf("%d mails to the manager, want 1", n)
		}
	})
}
