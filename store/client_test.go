package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

func TestClient(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var c store.Client
		fill(&c, 1, "PartnerID")
		c.PartnerID = w.partner.ID
		w.write(func(tx *store.Tx) error { return tx.InsertClient(w.ctx, &c) })
		same(t, c.TokenVersion, nil, 1)
		gives(t, c)(w.db.Client(w.ctx, c.ID))

		w.clock.Advance(time.Second)
		fill(&c, 2, "ID", "PartnerID", "CreatedAt", "CertificateSeen", "CertificateUntil")
		w.write(func(tx *store.Tx) error { return tx.UpdateClient(w.ctx, &c) })
		gives(t, c)(w.db.Client(w.ctx, c.ID))
		rows, err := w.db.Clients(w.ctx, w.partner.ID)
		same(t, rows, err, []store.Client{c, w.client})
		rows, err = w.db.Clients(w.ctx, w.own.ID)
		same(t, len(rows), err, 0)
		missing(t)(w.db.Client(w.ctx, "cli_none"))
		w.write(func(tx *store.Tx) error {
			return tx.NoteClientCertificate(w.ctx, c.ID, "CN=x", store.At(w.clock.Now()))
		})
		c.CertificateSeen, c.CertificateUntil = "CN=x", store.At(w.clock.Now())
		gives(t, c)(w.db.Client(w.ctx, c.ID))
	})
}

func TestPublishingClients(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		add := func(status string, types ...string) store.Client {
			c := store.Client{PartnerID: w.own.ID, Status: status, PublishTypes: types}
			w.write(func(tx *store.Tx) error { return tx.InsertClient(w.ctx, &c) })
			return c
		}
		active := add(store.ClientActive, "nl.a.*")
		add(store.ClientActive)
		add(store.ClientRevoked, "nl.a.*")
		rows, err := w.db.PublishingClients(w.ctx)
		listed(t, func(c store.Client) string { return c.ID }, []string{active.ID}, 1)(rows, len(rows), err)
	})
}

// A client is found by its name at another token issuer, which no two have; those without one are not found by none.
func TestExternalClient(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		add := func(issuer, id string) (store.Client, error) {
			c := store.Client{PartnerID: w.own.ID, Status: store.ClientActive, ExternalIssuer: issuer, ExternalID: id}
			return c, w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.InsertClient(w.ctx, &c) })
		}
		for range 2 {
			_, err := add("", "")
			noErr(t, err)
		}
		first, err := add("a", "x")
		noErr(t, err)
		second, err := add("b", "x")
		noErr(t, err)
		if _, err := add("a", "x"); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a name twice: %v", err)
		}
		for issuer, id := range map[string]string{"a": first.ID, "b": second.ID} {
			found, err := w.db.ExternalClient(w.ctx, issuer, "x")
			same(t, found.ID, err, id)
		}
		for _, name := range [][2]string{{"", ""}, {"a", ""}, {"a", "y"}} {
			if _, err := w.db.ExternalClient(w.ctx, name[0], name[1]); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%v: %v", name, err)
			}
		}
	})
}

func TestClientsWaiting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		asks := []store.Client{
			{RequestedScopes: store.Strings{"events:write"}},
			{RequestedTypes: store.Strings{"nl.a.*"}},
			{RequestedSources: store.Strings{"urn:a*"}},
			{RequestedScopes: store.Strings{"events:write"}, Status: store.ClientRevoked},
		}
		var want []string
		for i := range asks {
			c := &asks[i]
			c.PartnerID = w.partner.ID
			if c.Status == "" {
				c.Status = store.ClientActive
			}
			w.write(func(tx *store.Tx) error { return tx.InsertClient(w.ctx, c) })
			if c.Waiting() {
				want = append(want, c.ID)
			}
		}
		rows, err := w.db.ClientsWaiting(w.ctx)
		listed(t, func(c store.Client) string { return c.ID }, want, 3)(rows, len(rows), err)
		if w.client.Waiting() {
			t.Error("a client that asks for nothing waits")
		}
	})
}

func TestSigningKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		old := store.SigningKey{Algorithm: "ES256", PrivateKey: "sealed"}
		w.write(func(tx *store.Tx) error { return tx.InsertSigningKey(w.ctx, &old) })
		w.clock.Advance(time.Hour)
		young := store.SigningKey{ID: "chosen", Algorithm: "ES256", PrivateKey: "sealed"}
		w.write(func(tx *store.Tx) error { return tx.InsertSigningKey(w.ctx, &young) })
		w.write(func(tx *store.Tx) error { return tx.RetireSigningKey(w.ctx, old.ID, tx.Now) })
		old.RetiredAt = w.now()
		gives(t, []store.SigningKey{young, old})(w.db.SigningKeys(w.ctx))
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.RetireSigningKey(w.ctx, old.ID, tx.Now) })
	})
}

func TestReadKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var k store.ReadKey
		fill(&k, 1, "PartnerID")
		k.PartnerID = w.partner.ID
		w.write(func(tx *store.Tx) error { return tx.InsertReadKey(w.ctx, &k) })
		gives(t, k)(w.db.ReadKey(w.ctx, k.ID))
		gives(t, k)(w.db.ReadKeyBySecret(w.ctx, k.SecretHash))
		missing(t)(w.db.ReadKeyBySecret(w.ctx, "sha256:none"))

		young := store.ReadKey{PartnerID: w.partner.ID, Name: "young", SecretHash: "h2"}
		w.write(func(tx *store.Tx) error { return tx.InsertReadKey(w.ctx, &young) })
		rows, err := w.db.ReadKeys(w.ctx, w.partner.ID)
		same(t, rows, err, []store.ReadKey{young, k})
		rows, err = w.db.ReadKeys(w.ctx, w.own.ID)
		same(t, len(rows), err, 0)

		w.clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error {
			young.LastUsedAt, young.RevokedAt, young.RevokeReason = tx.Now, tx.Now, "lost"
			return errors.Join(tx.TouchReadKey(w.ctx, young.ID), tx.RevokeReadKey(w.ctx, young.ID, "lost"))
		})
		gives(t, young)(w.db.ReadKey(w.ctx, young.ID))
		err = w.db.Write(w.ctx, func(tx *store.Tx) error { return tx.RevokeReadKey(w.ctx, young.ID, "again") })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
	})
}
