package services

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/store"
)

func publisher() identity.NewClient {
	return identity.NewClient{
		Name: "Student system", AuthMethod: token.ClientSecretBasic,
		Scopes:         []string{identity.ScopeEventsConsume, identity.ScopeEventsPublish},
		PublishTypes:   []string{"nl.noord.student.*", enrolled},
		PublishSources: []string{"https://noord.example/sis/*"},
	}
}

// mayPublish asks for both the type and the source of an event.
func mayPublish(c store.Client, eventType, source string) error {
	return errors.Join(identity.MayPublishType(c, eventType), identity.MayPublishFrom(c, source))
}

func TestMayPublish(t *testing.T) {
	t.Parallel()
	c := store.Client{
		PublishTypes:   store.Strings{"nl.noord.*", enrolled},
		PublishSources: store.Strings{"https://noord.example/*", "urn:nld:oin:1:*", "/exact"},
	}
	for _, tt := range []struct {
		name, source string
		ok           bool
	}{
		{enrolled, "/exact", true},
		{"nl.noord.student", "https://noord.example/x", true},
		{"nl.noord.", "/exact", false},
		{"nl.noord", "/exact", false},
		{"nl.noordelijk.x", "/exact", false},
		{enrolled + ".v2", "/exact", false},
		{strings.ToUpper(enrolled), "/exact", false},
		{enrolled, "https://noord.example.evil.org/", false},
		{enrolled, "https://noord.example/", false},
		{enrolled, "/exact/more", false},
		{enrolled, "urn:nld:oin:1:sis", true},
		{"", "", false},
	} {
		err := mayPublish(c, tt.name, tt.source)
		if (err == nil) != tt.ok {
			t.Errorf("%q from %q: %v", tt.name, tt.source, err)
		}
		if err != nil {
			wantCode(t, tt.name, registry.CodeForbidden, err)
		}
	}
	if mayPublish(store.Client{}, enrolled, "/exact") == nil {
		t.Error("a client without grants may publish")
	}
}

func TestClientInput(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		for _, tt := range []struct {
			field string
			spoil func(*identity.NewClient)
		}{
			{"name", func(c *identity.NewClient) { c.Name = "" }},
			{"authMethod", func(c *identity.NewClient) { c.AuthMethod = "none" }},
			{"authMethod", func(c *identity.NewClient) { c.AuthMethod = token.ClientSecretPost }},
			{"jwks", func(c *identity.NewClient) { c.AuthMethod = token.PrivateKeyJWT }},
			{"jwks", func(c *identity.NewClient) { c.AuthMethod, c.JWKS = token.PrivateKeyJWT, `{"keys":[]}` }},
			{"jwks", func(c *identity.NewClient) { c.JWKS = "x" }},
			{"jwksUri", func(c *identity.NewClient) { c.AuthMethod, c.JWKSURI = token.PrivateKeyJWT, "http://127.0.0.1/" }},
			{"scopes", func(c *identity.NewClient) { c.Scopes = append(c.Scopes, "everything") }},
			{"publishTypes", func(c *identity.NewClient) { c.PublishTypes = nil }},
			{"publishTypes", func(c *identity.NewClient) { c.PublishTypes = []string{"*"} }},
			{"publishTypes", func(c *identity.NewClient) { c.PublishTypes = []string{"nl.*"} }},
			{"publishTypes", func(c *identity.NewClient) { c.PublishTypes = []string{"nl.exa mple"} }},
			{"publishTypes", func(c *identity.NewClient) { c.PublishTypes = []string{"nl.a.*.b"} }},
			{"publishSources", func(c *identity.NewClient) { c.PublishSources = nil }},
			{"publishSources", func(c *identity.NewClient) { c.PublishSources = []string{"*"} }},
			{"publishSources", func(c *identity.NewClient) { c.PublishSources = []string{"https://*"} }},
			{"publishSources", func(c *identity.NewClient) { c.PublishSources = []string{"https:*"} }},
			{"publishSources", func(c *identity.NewClient) { c.PublishSources = []string{"https://noord.example*"} }},
			{"publishSources", func(c *identity.NewClient) { c.PublishSources = []string{"http://[bad"} }},
		} {
			in := publisher()
			tt.spoil(&in)
			_, _, err := w.Clients.Create(t.Context(), actor, "", in)
			if f := fieldsOf(err); len(f) != 1 || f[tt.field] == "" {
				t.Errorf("%s: %+v: got %v %v", tt.field, in, err, f)
			}
		}
	})
}

func TestClientWaitsForAdministrator(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		client, secret, err := w.Clients.Create(ctx, actor, "", publisher())
		must(t, err)
		if !strings.HasPrefix(secret, "schs_") || client.PartnerID != p.ID || !client.Waiting() {
			t.Errorf("got %+v", client)
		}
		if !slices.Equal(client.Scopes, []string{identity.ScopeEventsConsume}) || mayPublish(client, enrolled, "https://noord.example/sis/1") == nil {
			t.Errorf("granted too much: %+v", client)
		}
		waiting, err := w.Clients.Waiting(ctx, w.admin)
		if err != nil || len(waiting) != 1 {
			t.Fatalf("%d wait, %v", len(waiting), err)
		}
		g, err := w.Clients.Grant(ctx, w.admin, client.ID)
		must(t, err)
		if !slices.Equal(g.Scopes, []string{identity.ScopeEventsPublish}) || len(g.Types) != 2 || len(g.Sources) != 1 || g.Partner.ID != p.ID {
			t.Errorf("shown: %+v", g)
		}
		wider := publisher()
		wider.PublishTypes = []string{"nl.more.x.*", enrolled}
		_, err = w.Clients.Update(ctx, actor, client.ID, wider)
		must(t, err)
		_, err = w.Clients.Decide(ctx, w.admin, client.ID, identity.Decision{Approve: true, Seen: g.Seen})
		wantCode(t, "changed since it was shown", registry.CodeConflict, err)
		g, err = w.Clients.Grant(ctx, w.admin, client.ID)
		must(t, err)
		client, err = w.Clients.Decide(ctx, w.admin, client.ID, identity.Decision{Approve: true, Seen: g.Seen})
		must(t, err)
		if client.Waiting() || mayPublish(client, enrolled, "https://noord.example/sis/1") != nil {
			t.Errorf("after approval: %+v", client)
		}
		if got := w.lastSentence(t); !strings.Contains(got, "Admin granted client Student system events.publish") {
			t.Errorf("told as %q", got)
		}
		_, err = w.Clients.Decide(ctx, w.admin, client.ID, identity.Decision{Approve: true})
		wantCode(t, "nothing waits", registry.CodeConflict, err)

		narrower := publisher()
		narrower.PublishTypes = []string{enrolled}
		client, err = w.Clients.Update(ctx, actor, client.ID, narrower)
		if err != nil || client.Waiting() || !slices.Equal(client.PublishTypes, []string{enrolled}) {
			t.Errorf("what is no longer asked stays: %+v, %v", client, err)
		}
	})
}

func TestClientRejection(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		_, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		client, _, err := w.Clients.Create(t.Context(), actor, "", publisher())
		must(t, err)
		_, err = w.Clients.Decide(t.Context(), w.admin, client.ID, identity.Decision{})
		wantCode(t, "no reason", registry.CodeInvalid, err)
		_, err = w.Clients.Decide(t.Context(), actor, client.ID, identity.Decision{Approve: true})
		wantCode(t, "partner decides", registry.CodeForbidden, err)
		client, err = w.Clients.Decide(t.Context(), w.admin, client.ID, identity.Decision{Reason: "not agreed upon"})
		if err != nil || client.Waiting() || len(client.PublishTypes) != 0 {
			t.Errorf("got %+v, %v", client, err)
		}
		if m := w.mailsTo(t, "anna@noord.example")[0]; !strings.Contains(m.Body, "not agreed upon") {
			t.Errorf("told as %q", m.Body)
		}
	})
}

func TestClientSecretLife(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p, actor := w.partner(t, "Noord", goodOIN, "anna@noord.example")
		client, first, err := w.Clients.Create(ctx, actor, "", identity.NewClient{Name: "ERP", AuthMethod: token.ClientSecretBasic, Scopes: w.Clients.FreeScopes(ctx)})
		must(t, err)
		rotated, second, err := w.Clients.RotateSecret(ctx, actor, client.ID)
		if err != nil || first == second || rotated.SecretHash == client.SecretHash || rotated.TokenVersion <= client.TokenVersion {
			t.Errorf("rotation: %+v, %v", rotated, err)
		}
		tc, err := w.Clients.TokenClient(ctx, client.ID)
		if err != nil || tc.Status != token.StatusActive || tc.PartnerID != p.ID || tc.SecretHash != rotated.SecretHash {
			t.Errorf("got %+v, %v", tc, err)
		}
		must(t, w.Clients.Revoke(ctx, actor, client.ID, "leaked"))
		tc, err = w.Clients.TokenClient(ctx, client.ID)
		if err != nil || tc.Status == token.StatusActive || tc.SecretHash != "" {
			t.Errorf("revoked: %+v, %v", tc, err)
		}
		_, _, err = w.Clients.RotateSecret(ctx, actor, client.ID)
		wantCode(t, "rotate revoked", registry.CodeConflict, err)
		_, err = w.Clients.Update(ctx, actor, client.ID, publisher())
		wantCode(t, "update revoked", registry.CodeConflict, err)
		wantCode(t, "revoke twice", registry.CodeConflict, w.Clients.Revoke(ctx, actor, client.ID, ""))
		if _, err := w.Clients.TokenClient(ctx, "cli_x"); !errors.Is(err, token.ErrUnknownClient) {
			t.Errorf("unknown: %v", err)
		}
	})
}

func TestOwnClientIsGrantedAtOnce(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		in := publisher()
		in.PublishSources = []string{"*"}
		client, _, err := w.Clients.Create(t.Context(), w.admin, "", in)
		if err != nil || client.Waiting() || client.PartnerID != w.own.ID || mayPublish(client, enrolled, "/any") != nil {
			t.Fatalf("got %+v, %v", client, err)
		}
		tc, err := w.Clients.TokenClient(t.Context(), client.ID)
		if err != nil || tc.PartnerID != "" {
			t.Errorf("got %+v, %v", tc, err)
		}
		actor, err := w.Clients.Actor(t.Context(), client.ID)
		if err != nil || actor.Administrator || actor.PartnerID != w.own.ID {
			t.Errorf("a client is an administrator: %+v, %v", actor, err)
		}
		list, err := w.Clients.List(t.Context(), w.admin.Scope(), "")
		if err != nil || len(list) != 1 {
			t.Errorf("%d clients, %v", len(list), err)
		}
	})
}

func TestSigningKeys(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		keys, err := w.SigningKeys.SigningKeys(ctx)
		if err != nil || len(keys) != 1 || !keys[0].RetiredAt.IsZero() {
			t.Fatalf("got %+v, %v", keys, err)
		}
		w.clock.Advance(1000)
		must(t, w.SigningKeys.RotateSigningKey(ctx, w.admin))
		again, err := w.SigningKeys.SigningKeys(ctx)
		if err != nil || len(again) != 2 || again[0].KID == keys[0].KID || again[1].RetiredAt.IsZero() || !again[0].RetiredAt.IsZero() {
			t.Errorf("after rotation %+v, %v", again, err)
		}
		rows, err := w.db.SigningKeys(ctx)
		must(t, err)
		for _, row := range rows {
			if !strings.HasPrefix(row.PrivateKey, "v1.") {
				t.Errorf("a private key is not sealed")
			}
		}
		wantCode(t, "partner", registry.CodeForbidden, w.SigningKeys.RotateSigningKey(ctx, registry.Actor{PartnerID: "x"}))
		issuer, err := token.New(token.Config{
			Issuer: "https://schakel.example", Clients: w.Clients, Replay: w.db, Keys: w.SigningKeys, Now: w.clock.Now,
			AuthMethods: []string{token.ClientSecretBasic},
		})
		must(t, err)
		if jwks, err := issuer.JWKS(ctx); err != nil || strings.Count(string(jwks), `"kid"`) != 2 {
			t.Errorf("published %s, %v", jwks, err)
		}
	})
}

// A key is shown once, reads as its partner, and ends when it is revoked, when its day comes, or with its partner.
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

// A clock that is ahead at the first start makes a key that starts later. Once the clock is right tokens are signed with another key,
// and who operates the program is told why.
func TestClockWasAheadAtTheFirstStart(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.clock.Advance(30 * 24 * time.Hour)
		ahead, err := w.SigningKeys.SigningKeys(ctx)
		must(t, err)
		must(t, w.SigningKeys.Check(ctx))
		w.clock.Advance(-30 * 24 * time.Hour)
		for range 2 { // only one is made
			keys, err := w.SigningKeys.SigningKeys(ctx)
			must(t, err)
			if len(keys) != 2 || keys[0].KID != ahead[0].KID || keys[1].CreatedAt.After(w.clock.Now()) {
				t.Fatalf("keys %v at %s, want one that started", keys, w.clock.Now())
			}
		}
		if err := w.SigningKeys.Check(ctx); !errors.Is(err, identity.ErrClockWasAhead) {
			t.Errorf("check: %v, want ErrClockWasAhead", err)
		}
		must(t, w.SigningKeys.RotateSigningKey(ctx, w.admin))
		must(t, w.SigningKeys.Check(ctx))
	})
}
