package outbox

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/delivery/jwe"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// decrypt reads the encrypted data of an event.
func decrypt(t *testing.T, key any, sealed string) string {
	t.Helper()
	parsed, err := jose.ParseEncryptedCompact(sealed, []jose.KeyAlgorithm{jose.ECDH_ES_A256KW}, []jose.ContentEncryption{jose.A256GCM})
	must(t, err)
	plain, err := parsed.Decrypt(key)
	must(t, err)
	return string(plain)
}

// Data leaves encrypted in each mode and in batches, a retry has the same bytes, and what cannot be encrypted waits for a person until the
// subscription is changed. Nothing leaves in clear.
func TestEncryptedDeliveries(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	set := func(expires int64) string {
		raw, err := json.Marshal(jose.JSONWebKey{Key: key.Public(), KeyID: "k"})
		must(t, err)
		one := map[string]any{"exp": expires}
		must(t, json.Unmarshal(raw, &one))
		if expires == 0 {
			delete(one, "exp")
		}
		text, err := json.Marshal(map[string]any{"keys": []any{one}})
		must(t, err)
		return string(text)
	}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHook(t)
		w := h.transport()
		w.Encrypter = jwe.New(jwe.Config{Now: time.Now, Open: func(sealed string) ([]byte, error) { return bytes.Repeat([]byte(sealed), 32)[:32], nil }})
		c := newChain(t, db, func(cfg *Config) { cfg.Transports = map[string]Transport{store.EndpointWebhook: w} })
		s := c.partner("P", "nl.secret")
		change := func(recipient, seed string) {
			c.write(func(tx *store.Tx) error {
				now, err := tx.Subscription(t.Context(), s.ID)
				if err != nil {
					return err
				}
				now.Encrypt, now.EncryptSeed = recipient, seed
				if err := tx.UpdateSubscription(t.Context(), &now); err != nil {
					return err
				}
				return tx.ReleaseUnencrypted(t.Context(), s.ID)
			})
			c.eng.Changed()
			c.waitFor(func() bool {
				known := c.eng.sendings.Load()
				if known == nil { // the engine has not read them yet
					return false
				}
				e := (*known)[s.ID].Encryption
				return recipient == "" && e == nil || e != nil && e.Seed == seed && (*known)[s.EndpointID].Encryption == e
			})
		}
		change(set(0), "a")
		c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents = 0 })
		first := true
		h.set(func(request) int {
			if first {
				first = false
				return http.StatusServiceUnavailable
			}
			return http.StatusAccepted
		})
		receipt := c.accept("nl.secret", "1")
		c.until(receipt.Events[0].EventID, store.DeliveryDelivered)
		got := h.all()
		if len(got) != 2 || got[0] != got[1] {
			t.Fatalf("a retry differs: %+v", got)
		}
		var ev struct{ Type, Datacontenttype, Data string }
		must(t, json.Unmarshal([]byte(got[0].body), &ev))
		if plain := decrypt(t, key, ev.Data); ev.Datacontenttype != jwe.MediaType || ev.Type != "nl.secret" || !strings.HasPrefix(plain, "{") {
			t.Errorf("%+v %s", ev, plain)
		}

		c.batches(h, s, func(e *store.Endpoint) { e.BatchEvents, e.ContentMode = 0, webhook.ModeBinary })
		receipt = c.accept("nl.secret", "2")
		c.until(receipt.Events[0].EventID, store.DeliveryDelivered)
		if last := h.all()[2]; last.kind != jwe.MediaType || !strings.HasPrefix(decrypt(t, key, last.body), "{") {
			t.Errorf("in binary mode: %+v", last)
		}

		c.batches(h, s, func(e *store.Endpoint) { e.ContentMode = webhook.ModeStructured })
		c.paused(s, func() { receipt = c.accept("nl.secret", "3", "4", "5") })
		for _, one := range receipt.Events {
			id := one.EventID
			c.until(id, store.DeliveryDelivered)
		}
		var batch []struct{ ID, Data string }
		last := h.all()[3]
		must(t, json.Unmarshal([]byte(last.body), &batch))
		if !last.batch() || len(batch) != 3 || batch[0].Data == batch[1].Data || !strings.HasPrefix(decrypt(t, key, batch[2].Data), "{") {
			t.Errorf("as a batch: %+v", last)
		}

		change(set(1000), "b")
		receipt = c.accept("nl.secret", "6", "7")
		for _, one := range receipt.Events {
			id := one.EventID
			if d := c.until(id, store.DeliveryHeld); d.Reason != webhook.ReasonEncryption || !strings.Contains(d.Detail, "jwe.problem.expired") {
				t.Errorf("held for %s: %s", d.Reason, d.Detail)
			}
		}
		if n := len(h.all()); n != 4 {
			t.Errorf("%d requests were made, some of them with data that could not be encrypted", n)
		}
		change(set(0), "c")
		for _, one := range receipt.Events {
			id := one.EventID
			c.until(id, store.DeliveryDelivered)
		}
		for _, r := range h.all() {
			if strings.Contains(r.body, `"data":{`) {
				t.Errorf("data left in clear: %s", r.body)
			}
		}
	})
}

// What was claimed before its subscription asked for encryption, or for another key, is claimed again.
func TestEncryptionChangedAfterClaim(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		s, other := c.partner("P", "nl.secret"), c.partner("Q", "nl.open")
		of := func(sub store.Subscription, e *store.Encryption) *store.Claimed {
			return &store.Claimed{Delivery: store.Delivery{SubscriptionID: sub.ID}, Encryption: e}
		}
		c.changeSubscription(s.ID, func(s *store.Subscription) { s.Encrypt, s.EncryptSeed = "{}", "b" })
		for name, step := range map[string]struct {
			list []*store.Claimed
			want bool
		}{
			"in clear":      {[]*store.Claimed{of(s, nil)}, false},
			"the old key":   {[]*store.Claimed{of(s, &store.Encryption{Seed: "a"})}, false},
			"as it is":      {[]*store.Claimed{of(s, &store.Encryption{Seed: "b"}), of(other, nil), of(store.Subscription{}, nil)}, true},
			"one of a lot":  {[]*store.Claimed{of(other, nil), of(s, nil)}, false},
			"not any more":  {[]*store.Claimed{of(other, &store.Encryption{Seed: "b"})}, false},
			"never was any": {[]*store.Claimed{of(other, nil)}, true},
			"a test":        {[]*store.Claimed{{Delivery: store.Delivery{EndpointID: s.EndpointID, EventType: "nl.secret"}, Encryption: &store.Encryption{Seed: "b"}}}, true},
			"a plain test":  {[]*store.Claimed{{Delivery: store.Delivery{EndpointID: s.EndpointID, EventType: "nl.secret"}}}, false},
		} {
			if got := c.eng.sameEncryption(t.Context(), step.list...); got != step.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}
