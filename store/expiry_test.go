package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schakel/store"
)

// Of each threshold of an end people are told once, whichever node is first; one that was renewed has another end and begins anew.
func TestNoteExpiry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		end := w.in(60 * 24 * time.Hour)
		note := func(until store.Time, days int64) (first bool) {
			w.write(func(tx *store.Tx) (err error) {
				first, err = tx.NoteExpiry(w.ctx, store.ExpiryNotice{Item: "client c1", Until: until, Days: days, Code: "c", Text: "t", Remedy: "r"})
				return err
			})
			return first
		}
		for i, c := range []struct {
			until store.Time
			days  int64
			first bool
		}{
			{end, 60, true},
			{end, 60, false},
			{end, 7, true},
			{end, 30, false}, // the clock was set back
			{end, 0, true},
			{end, 0, false},
			{store.At(end.Add(time.Hour)), 60, true}, // renewed
		} {
			if got := note(c.until, c.days); got != c.first {
				t.Errorf("step %d: first is %v", i, got)
			}
		}
		var firsts atomic.Int64
		var nodes sync.WaitGroup
		for range 4 {
			nodes.Go(func() {
				err := w.db.Write(w.ctx, func(tx *store.Tx) error {
					first, err := tx.NoteExpiry(w.ctx, store.ExpiryNotice{Item: "tls x", Until: end, Days: 30})
					if first {
						firsts.Add(1)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		if firsts.Load() != 1 {
			t.Errorf("%d nodes told it", firsts.Load())
		}
		w.write(func(tx *store.Tx) error { return tx.EndExpiry(w.ctx, "client c1", end) })
		rows, err := w.db.ExpiryNotices(w.ctx)
		noErr(t, err)
		if len(rows) != 3 || rows[0].EndedAt.IsZero() || rows[0].Days != 0 || !rows[1].EndedAt.IsZero() || rows[1].Days != 60 {
			t.Errorf("%+v", rows)
		}
		w.write(func(tx *store.Tx) error {
			_, err := tx.PruneExpired(w.ctx, w.in(461*24*time.Hour), "", 100)
			return err
		})
		if rows, err := w.db.ExpiryNotices(w.ctx); err != nil || len(rows) != 0 {
			t.Errorf("kept for ever: %+v, %v", rows, err)
		}
	})
}

// What ends is listed with who has it, and what is revoked or not in use is not.
func TestExpiring(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		soon := w.in(time.Hour)
		w.write(func(tx *store.Tx) error { return tx.NoteClientCertificate(w.ctx, w.client.ID, "CN=las", soon) })
		key := store.ReadKey{PartnerID: w.own.ID, Name: "build", SecretHash: "h", ExpiresAt: soon}
		w.write(func(tx *store.Tx) error { return tx.InsertReadKey(w.ctx, &key) })
		other := store.ReadKey{PartnerID: w.own.ID, Name: "never", SecretHash: "i"}
		w.write(func(tx *store.Tx) error { return tx.InsertReadKey(w.ctx, &other) })
		clients, err := w.db.ExpiringClients(w.ctx, w.now())
		noErr(t, err)
		if len(clients) != 1 || clients[0].ID != w.client.ID || clients[0].Owner != w.partner.Name || clients[0].Own || !clients[0].Until.Equal(soon.Time) {
			t.Errorf("clients %+v", clients)
		}
		keys, err := w.db.ExpiringReadKeys(w.ctx, w.now())
		noErr(t, err)
		if len(keys) != 1 || keys[0].ID != key.ID || !keys[0].Own || keys[0].From.IsZero() {
			t.Errorf("read keys %+v", keys)
		}
		w.write(func(tx *store.Tx) error {
			w.client.Status = store.ClientRevoked
			if err := tx.UpdateClient(w.ctx, &w.client); err != nil {
				return err
			}
			return tx.RevokeReadKey(w.ctx, key.ID, "gone")
		})
		clients, err = w.db.ExpiringClients(w.ctx, w.now())
		noErr(t, err)
		keys, err = w.db.ExpiringReadKeys(w.ctx, w.now())
		noErr(t, err)
		if len(clients)+len(keys) != 0 {
			t.Errorf("revoked: %+v %+v", clients, keys)
		}
	})
}

// Keys with certificates, keys that retire, and the newest certificate of each party and purpose.
func TestExpiringKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.client.JWKS = `{"keys":[{"kid":"a","x5c":["eA=="]}]}`
		w.endpoint.SignKeys = `[{"id":"whk_2"},{"id":"whk_1","retiresAt":1}]`
		w.endpoint.Certificates = `[{"id":"c"}]`
		broker := store.AMQPBroker{Name: "b", Dialect: store.AMQPRabbitMQ4, URL: "amqps://b.example", SASL: store.AMQPExternal, Enabled: true}
		w.write(func(tx *store.Tx) error {
			if err := tx.UpdateClient(w.ctx, &w.client); err != nil {
				return err
			}
			if err := tx.UpdateEndpoint(w.ctx, &w.endpoint); err != nil {
				return err
			}
			return tx.InsertAMQPBroker(w.ctx, &broker)
		})
		party := store.AMQPParty{PartnerID: w.partner.ID, BrokerID: broker.ID, Kind: store.AMQPHealth, Name: "Clinic", HerID: 7, Enabled: true}
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPParty(w.ctx, &party) })
		for i, days := range []int{10, 400} {
			w.write(func(tx *store.Tx) error {
				return tx.InsertAMQPCertificate(w.ctx, &store.AMQPCertificate{
					PartyID: party.ID, Purpose: store.AMQPSign, Thumbprint: string(rune('A' + i)), Certificate: "x", Subject: "CN=x",
					NotBefore: w.now(), NotAfter: w.in(time.Duration(days) * 24 * time.Hour),
				})
			})
		}
		clients, err := w.db.ClientsWithCertificates(w.ctx)
		noErr(t, err)
		if len(clients) != 1 || clients[0].Keys != w.client.JWKS || clients[0].Name != w.client.Name {
			t.Errorf("clients %+v", clients)
		}
		endpoints, err := w.db.EndpointsWithEndingKeys(w.ctx)
		noErr(t, err)
		if len(endpoints) != 1 || endpoints[0].ID != w.endpoint.ID || endpoints[0].Keys != w.endpoint.SignKeys {
			t.Errorf("endpoints %+v", endpoints)
		}
		shown, err := w.db.EndpointsWithCertificates(w.ctx)
		noErr(t, err)
		if len(shown) != 1 || shown[0].ID != w.endpoint.ID || shown[0].Keys != w.endpoint.Certificates || shown[0].Owner != w.partner.Name {
			t.Errorf("endpoints with certificates %+v", shown)
		}
		gives(t, []string(nil))(w.db.EndpointsSigned(w.ctx))
		w.endpoint.Kind, w.endpoint.SignKeys = store.EndpointWebhook, `[{"id":"whk_1","kind":"ed25519"}]`
		w.write(func(tx *store.Tx) error { return tx.UpdateEndpoint(w.ctx, &w.endpoint) })
		gives(t, []string{w.endpoint.ID})(w.db.EndpointsSigned(w.ctx))
		none := func(list []store.KeptKeys, err error) {
			t.Helper()
			if err != nil || len(list) != 0 {
				t.Errorf("%+v, %v, want none", list, err)
			}
		}
		none(w.db.EndpointAddresses(w.ctx))
		none(w.db.SubscriptionsEncrypted(w.ctx))
		none(w.db.TokenAddresses(w.ctx))
		none(w.db.KeyAddresses(w.ctx))
		w.client.JWKSURI, w.endpoint.TokenURL = "https://vavo.example/keys", "https://vavo.example/token"
		w.write(func(tx *store.Tx) error { return tx.UpdateClient(w.ctx, &w.client) })
		w.endpoint.URL, w.subscription.Encrypt = "https://vavo.example/in", `{"keys":[]}`
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.UpdateEndpoint(w.ctx, &w.endpoint), tx.UpdateSubscription(w.ctx, &w.subscription))
		})
		for address, read := range map[string]func(context.Context) ([]store.KeptKeys, error){w.endpoint.TokenURL: w.db.TokenAddresses, w.client.JWKSURI: w.db.KeyAddresses} {
			list, err := read(w.ctx)
			noErr(t, err)
			if len(list) != 1 || list[0].PartnerID != w.partner.ID || list[0].Owner != w.partner.Name || list[0].Keys != address {
				t.Errorf("%s: %+v", address, list)
			}
		}
		for id, read := range map[string]func(context.Context) ([]store.KeptKeys, error){w.endpoint.ID: w.db.EndpointAddresses, w.subscription.ID: w.db.SubscriptionsEncrypted} {
			list, err := read(w.ctx)
			noErr(t, err)
			if len(list) != 1 || list[0].ID != id || list[0].PartnerID != w.partner.ID || list[0].Own || list[0].Name != w.endpoint.Name || list[0].Owner != w.partner.Name ||
				list[0].Keys != w.endpoint.URL && list[0].Keys != w.subscription.Encrypt {
				t.Errorf("%+v", list)
			}
		}
		parties, err := w.db.ExpiringParties(w.ctx)
		noErr(t, err)
		if len(parties) != 1 || parties[0].ID != party.ID+":sign" || !parties[0].Until.Equal(w.in(400*24*time.Hour).Time) {
			t.Errorf("parties %+v", parties)
		}
	})
}

// Keys of assertions are listed by when they start; one that starts ends those before it at that moment, once.
func TestAssertionKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		add := func(id string, starts store.Time) {
			w.write(func(tx *store.Tx) error {
				if err := tx.RetireAssertionKeys(w.ctx, starts); err != nil {
					return err
				}
				return tx.InsertAssertionKey(w.ctx, &store.AssertionKey{ID: id, Algorithm: "ES256", PrivateKey: "p", Certificate: "c", NotAfter: w.in(time.Hour), StartsAt: starts})
			})
		}
		first, second := w.now(), w.in(48*time.Hour)
		add("a", first)
		add("b", second)
		keys, err := w.db.AssertionKeys(w.ctx)
		noErr(t, err)
		if len(keys) != 2 || keys[0].ID != "b" || !keys[0].RetiredAt.IsZero() || !keys[1].RetiredAt.Equal(second.Time) || keys[1].CreatedAt.IsZero() {
			t.Errorf("%+v", keys)
		}
		w.write(func(tx *store.Tx) error { return tx.RetireAssertionKeys(w.ctx, tx.Now) })
		keys, err = w.db.AssertionKeys(w.ctx)
		noErr(t, err)
		if !keys[0].RetiredAt.Equal(w.now().Time) || !keys[1].RetiredAt.Equal(w.now().Time) {
			t.Errorf("all are retired: %+v", keys)
		}
	})
}
