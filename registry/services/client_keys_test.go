package services

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/profile"
	"schakel/store"
)

// Where changed destinations wait, a partner's client reads only what an administrator let it read, with keys that an administrator saw: a stolen session
// gets no data by pull either. The keys before go on meanwhile.
func TestReadingByPullWaits(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		create := func(name string, scopes ...string) (id, secret string) {
			t.Helper()
			client, secret, err := w.Clients.Create(ctx, anna, "", identity.NewClient{Name: name, AuthMethod: "client_secret_basic", Scopes: scopes})
			must(t, err)
			return client.ID, secret
		}
		free, _ := create("Before", identity.ScopeEventsConsume, identity.ScopeMutationsRead)
		if c, err := w.db.Client(ctx, free); err != nil || c.Waiting() || len(c.Scopes) != 2 {
			t.Fatalf("at once: %+v, %v", c, err)
		}
		_, _, err := w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: map[string]string{"sending.new_destination": "approval", "tokens.client_auth": "client_secret_post"}})
		must(t, err)

		id, _ := create("Reader", identity.ScopeEventsConsume, identity.ScopeSubscriptionsWrite, identity.ScopeMutationsRead)
		c, err := w.db.Client(ctx, id)
		must(t, err)
		if len(c.Scopes) != 1 || len(c.RequestedScopes) != 2 || !c.Waiting() {
			t.Fatalf("reads at once: %v, waits for %v", c.Scopes, c.RequestedScopes)
		}
		seen := identity.ClientRequestSeen(c)
		_, _, err = w.Clients.RotateSecret(ctx, anna, id)
		must(t, err)
		_, err = w.Clients.Decide(ctx, w.admin, id, identity.Decision{Approve: true, Seen: seen})
		wantCode(t, "keys changed meanwhile", registry.CodeConflict, err)
		c, err = w.Clients.Decide(ctx, w.admin, id, identity.Decision{Approve: true})
		must(t, err)
		if len(c.Scopes) != 3 || c.Waiting() {
			t.Fatalf("approved: %+v", c)
		}

		// Other keys wait, and one that is rejected never counts.
		before := c.SecretHash
		c, secret, err := w.Clients.RotateSecret(ctx, anna, id)
		must(t, err)
		if c.SecretHash != before || !c.Waiting() || secret == "" {
			t.Fatalf("a new secret counts at once: %+v", c)
		}
		for _, to := range []string{"anna@noord.example", "admin@example.nl"} {
			var all strings.Builder
			for _, m := range w.mailsTo(t, to) {
				all.WriteString(m.Subject + "\n" + m.Body)
			}
			if !strings.Contains(all.String(), "Keys that wait for approval: none → A new secret") {
				t.Errorf("%s was not mailed: %s", to, all.String())
			}
		}
		waiting, err := w.Clients.Waiting(ctx, w.admin)
		if err != nil || len(waiting) != 1 || waiting[0].ID != id {
			t.Errorf("waiting %+v, %v", waiting, err)
		}
		in := identity.NewClient{Name: "Reader, renamed", AuthMethod: "client_secret_basic", Scopes: c.Scopes}
		if c, err = w.Clients.Update(ctx, anna, id, in); err != nil || !c.Waiting() || c.SecretHash != before || c.Name != in.Name {
			t.Fatalf("another name: %+v, %v", c, err)
		}
		c, err = w.Clients.Decide(ctx, w.admin, id, identity.Decision{Reason: "not known to the partner"})
		if err != nil || c.SecretHash != before || c.Waiting() {
			t.Fatalf("rejected: %+v, %v", c, err)
		}
		_, _, err = w.Clients.RotateSecret(ctx, anna, id)
		must(t, err)
		if c, err = w.Clients.Update(ctx, w.admin, id, in); err != nil || c.SecretHash != before || !c.Waiting() {
			t.Fatalf("an administrator who renames it decides about its secret: %+v, %v", c, err)
		}
		c, err = w.Clients.Decide(ctx, w.admin, id, identity.Decision{Approve: true})
		if err != nil || c.SecretHash == before || c.RequestedKeys != "" {
			t.Fatalf("approved: %+v, %v", c, err)
		}
		before = c.SecretHash
		if c, _, err = w.Clients.RotateSecret(ctx, w.admin, id); err != nil || c.SecretHash == before || c.Waiting() {
			t.Errorf("by an administrator: %+v, %v", c, err)
		}
		own, _ := create("Publisher", identity.ScopeSubscriptionsWrite)
		c, err = w.db.Client(ctx, own)
		must(t, err)
		before = c.SecretHash
		if c, _, err = w.Clients.RotateSecret(ctx, anna, own); err != nil || c.SecretHash == before {
			t.Errorf("a client that reads nothing: %+v, %v", c, err)
		}
	})
}

// Keys that are taken away wait too, and are told.
func TestRemovedKeysWait(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		given, err := token.NewKeyPair()
		must(t, err)
		asks := identity.NewClient{Name: "Reader", AuthMethod: token.PrivateKeyJWT, JWKS: given.Public, CertificateKeys: true, Scopes: []string{identity.ScopeEventsConsume}}
		client, _, err := w.Clients.Create(ctx, anna, "", asks)
		must(t, err)
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: map[string]string{"sending.new_destination": "approval"}})
		must(t, err)
		asks.JWKS = ""
		client, err = w.Clients.Update(ctx, anna, client.ID, asks)
		must(t, err)
		if grant, err := w.Clients.Grant(ctx, w.admin, client.ID); err != nil || client.JWKS == "" || !strings.Contains(grant.Keys.In(ctx), "No public keys") {
			t.Errorf("%+v: %q, %v", client, grant.Keys.In(ctx), err)
		}
	})
}

// A new key pair of a client that reads, another address of its keys and other certificates wait as a new secret does.
func TestKeyPairOfReaderWaits(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		given, err := token.NewKeyPair()
		must(t, err)
		client, _, err := w.Clients.Create(ctx, anna, "", identity.NewClient{Name: "Reader", AuthMethod: token.PrivateKeyJWT, JWKS: given.Public, Scopes: []string{identity.ScopeEventsConsume}})
		must(t, err)
		_, _, err = w.Profile.Save(ctx, w.admin, profile.ProfileChange{Values: map[string]string{"sending.new_destination": "proof"}})
		must(t, err)
		before := client.JWKS
		first, _, err := w.Clients.AddKeyPair(ctx, anna, client.ID)
		must(t, err)
		second, pair, err := w.Clients.AddKeyPair(ctx, anna, client.ID)
		must(t, err)
		if second.JWKS != before || first.RequestedKeys == second.RequestedKeys || !strings.Contains(identity.AskedKeys(second).JWKS, pair.KeyID) {
			t.Fatalf("a key counts at once: %+v", second)
		}
		// What is asked for are the added keys; that which counts already is none of them.
		if told := identity.RequestedKeys(second).In(ctx); !strings.Contains(told, pair.KeyID) || strings.Contains(told, token.KeyNames(before)[0]) {
			t.Errorf("told as new keys: %s", told)
		}
		entries, _, err := w.db.Audits(ctx, store.AuditFilter{Action: registry.ActionClientKeyAdded, ObjectID: client.ID})
		if err != nil || len(entries) != 2 || !strings.Contains(registry.Sentence(ctx, entries[0]), "waits for approval") {
			t.Errorf("the audit trail does not say that a key waits: %+v, %v", entries, err)
		}
		grant, err := w.Clients.Grant(ctx, w.admin, client.ID)
		if text := grant.Keys.In(ctx); err != nil || !strings.Contains(text, pair.KeyID) || !strings.Contains(text, "by thumbprint") {
			t.Errorf("an approval does not name the keys: %q, %v", text, err)
		}
		third, err := w.Clients.Update(ctx, anna, client.ID, identity.NewClient{Name: client.Name, Scopes: client.Scopes, JWKSURI: "https://noord.example/jwks"})
		must(t, err)
		if third.JWKS != before || third.JWKSURI != "" {
			t.Fatalf("keys at an address count at once: %+v", third)
		}
		grant, err = w.Clients.Grant(ctx, w.admin, client.ID)
		must(t, err)
		third, err = w.Clients.Update(ctx, anna, client.ID, identity.NewClient{
			Name: client.Name, Scopes: client.Scopes, JWKSURI: "https://noord.example/jwks", CertificateSubject: "CN=attacker", CertificateKeys: true,
		})
		must(t, err)
		_, err = w.Clients.Decide(ctx, w.admin, client.ID, identity.Decision{Approve: true, Seen: grant.Seen})
		wantCode(t, "certificates that were not seen", registry.CodeConflict, err)
		if third.CertificateSubject != "" || third.CertificateKeys {
			t.Fatalf("other certificates count at once: %+v", third)
		}
		if grant, err = w.Clients.Grant(ctx, w.admin, client.ID); err != nil || !strings.Contains(grant.Keys.In(ctx), "Subject of its certificates: none → CN=attacker") {
			t.Errorf("an approval does not name the certificates: %q, %v", grant.Keys.In(ctx), err)
		}
		_, err = w.Clients.Update(ctx, anna, client.ID, identity.NewClient{Name: client.Name, Scopes: client.Scopes, JWKSURI: "https://noord.example/jwks"})
		must(t, err)
		done, err := w.Clients.Decide(ctx, w.admin, client.ID, identity.Decision{Approve: true})
		if err != nil || done.JWKSURI != "https://noord.example/jwks" || done.JWKS != "" || done.TokenVersion <= client.TokenVersion {
			t.Errorf("approved: %+v, %v", done, err)
		}
	})
}

// A key that is registered with a certificate (x5c) is held against the roots and the partner when it is registered, so that who registers it is told,
// and not its machine later. What is not changed is not judged again.
//
// Rules: SEC-06, SEC-15.
func TestRegisteredCertificatesAreJudged(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		pki, refusal := newPKI(t, w.clock.Now()), error(nil)
		w.configure(t, func(c *registry.Config) {
			c.Certificates, c.CheckChain = true, func(context.Context, []*x509.Certificate) error { return refusal }
		})
		_, anna := w.partner(t, "Scholengroep Noord", goodOIN, "anna@noord.example")
		set := func(kid string, pair pair) string {
			text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: pair.Key.Public(), KeyID: kid, Certificates: []*x509.Certificate{pair.Cert, pki.Between}}}})
			must(t, err)
			return string(text)
		}
		mine, other := pki.Issue(goodOIN), pki.Issue("00000003123456780000")
		in := identity.NewClient{Name: "Reader", AuthMethod: token.PrivateKeyJWT, Scopes: []string{identity.ScopeRegistryRead}}
		refused := func(what string, err error, words ...string) {
			t.Helper()
			wantOneField(t, what, "jwks", err)
			for _, word := range words {
				if text := fieldsOf(err)["jwks"]; !strings.Contains(text, word) {
					t.Errorf("%s: %q lacks %q", what, text, word)
				}
			}
		}
		in.JWKS = set("theirs", other)
		_, _, err := w.Clients.Create(ctx, anna, "", in)
		refused("a certificate of another", err, "theirs", "00000003123456780000", goodOIN, "without x5c")
		in.JWKS, in.CertificateSubject = set("mine", mine), "CN=other.example.nl"
		_, _, err = w.Clients.Create(ctx, anna, "", in)
		refused("another subject", err, "mine", "other.example.nl")
		in.CertificateSubject, refusal = "", errors.New("untrusted")
		_, _, err = w.Clients.Create(ctx, anna, "", in)
		refused("another root", err, "mine", "untrusted")
		refusal = token.ErrRevocationUnknown
		_, _, err = w.Clients.Create(ctx, anna, "", in)
		refused("nobody knows", err, "mine", "Try again later")
		refusal = nil
		made, _, err := w.Clients.Create(ctx, anna, "", in)
		must(t, err)

		refusal = errors.New("expired")
		in.Name = "Reader, renamed"
		_, err = w.Clients.Update(ctx, anna, made.ID, in)
		wantCode(t, "another name", "", err)
		in.JWKS = set("next", pki.Issue(goodOIN))
		_, err = w.Clients.Update(ctx, anna, made.ID, in)
		refused("another key", err, "next", "expired")
		if c, err := w.db.Client(ctx, made.ID); err != nil || strings.Contains(c.JWKS, "next") {
			t.Errorf("registered all the same: %s, %v", c.JWKS, err)
		}
	})
}
