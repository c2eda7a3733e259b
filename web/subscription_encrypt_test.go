package web

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"schakel/delivery/jwe"
	"schakel/registry"
	registryamqp "schakel/registry/amqp"
	"schakel/registry/partners"
	"schakel/store"
	webpartners "schakel/web/partners"
)

// newEncrypter makes what encrypts data in tests; it fetches from nowhere.
func newEncrypter(vault *registry.Vault, now func() time.Time) *jwe.Service {
	return jwe.New(jwe.Config{
		HTTP: &http.Client{Transport: nowhere{}}, Now: now,
		Open: func(sealed string) ([]byte, error) { return partners.OpenEncryptSeed(vault, sealed) },
	})
}

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }

// recipientKey makes a key to decrypt with, and its public half as a JWK.
func recipientKey(t *testing.T) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return key, string(must(jose.JSONWebKey{Key: key.Public(), KeyID: "theirs"}.MarshalJSON())(t))
}

// A partner has the data of a subscription encrypted, after it proved who it is; its people and the administrators are mailed, the secret behind it is
// sealed, and a private key or an address that cannot be read is refused.
func TestSubscriptionEncryptionPage(t *testing.T) {
	t.Parallel()
	h := newPortalHarness(t).withCatalogue(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newSubscription(t, b, newEndpoint(t, b))
	_, public := recipientKey(t)
	wantWords(t, text(b.get(here)), "Not turned on for this subscription.", here+"/encryption")
	form := func(text string) url.Values { return url.Values{"encryption": {text}} }
	wantPage(t, b.post(here+"/encryption", form(`{"kty":"oct","k":"AAAA"}`)), http.StatusUnprocessableEntity, `href="#encryption"`, "secret or private key")
	wantPage(t, b.post(here+"/encryption", form("https://example.nl/jwks")), http.StatusUnprocessableEntity, "could not be read")
	wantRedirect(t, b.post(here+"/encryption", form(public)), here)
	wantWords(t, text(b.get(here)), "Encrypted (JWE) with the keys that were filled in; their fingerprint begins with")
	wantPage(t, b.get(here+"/encryption"), http.StatusOK, "theirs", jwe.AlgECDH)
	s := must(h.db.Subscription(t.Context(), idOf(here)))(t)
	if seed, err := partners.OpenEncryptSeed(must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(t), s.EncryptSeed); err != nil || len(seed) != 32 {
		t.Errorf("%q %v", s.EncryptSeed, err)
	}
	if !slices.ContainsFunc(h.mails(t, store.Page{Number: 1, Size: 100}), func(m store.Mail) bool { return strings.Contains(m.Subject, "encryption of a subscription") }) {
		t.Error("nobody was mailed")
	}
	entries, _, err := h.db.Audits(t.Context(), store.AuditFilter{Action: registry.ActionSubscriptionEncryption})
	if err != nil || len(entries) != 1 || strings.Contains(entries[0].Detail, s.EncryptSeed) {
		t.Errorf("%+v %v", entries, err)
	}
	wantRedirect(t, b.post(here+"/encryption", form("")), here)
	if s = must(h.db.Subscription(t.Context(), idOf(here)))(t); s.Encrypt != "" || s.EncryptSeed != "" {
		t.Errorf("%+v", s)
	}

	h.change(t, "access.proof_age", "10m")
	h.clock.Advance(11 * time.Minute)
	page := wantPage(t, b.post(here+"/encryption", form(public)), http.StatusForbidden, "Confirm that it is you")
	proof := url.Values{"proof-form": {strings.Split(match(t, `name="proof-form" value="[^"]+"`, page), `"`)[3]}}
	proof.Set("proof-password", "wrong wrong wrong")
	wantStatus(t, b.post(here+"/encryption", proof), http.StatusForbidden)
	if s = must(h.db.Subscription(t.Context(), idOf(here)))(t); s.Encrypt != "" {
		t.Error("a session alone changed whom data is encrypted for")
	}
	proof.Set("proof-password", testPassword)
	wantRedirect(t, b.post(here+"/encryption", proof), here)
	if s = must(h.db.Subscription(t.Context(), idOf(here)))(t); s.Encrypt == "" {
		t.Error("what was typed before the proof is lost")
	}
}

// A machine cannot change whom data is encrypted for, whatever its scopes, and sees it. A consumer that pulls gets encrypted data, and 503 while nothing can be
// encrypted.
func TestSubscriptionEncryptionAPI(t *testing.T) {
	eachPull(t, func(t *testing.T, w *pullWorld) {
		key, public := recipientKey(t)
		set := func(recipient string) (now webpartners.SubscriptionAnswer) {
			noError(t, w.reg.Subscriptions.SetEncryption(t.Context(), registry.SystemActor(), w.sub.ID, recipient))
			w.consumer.get(t, w.base).want(t, http.StatusOK).decode(t, &now)
			return now
		}
		refused := func() {
			t.Helper()
			for _, body := range []string{`{"encryption":null}`, `{"encryption":{"jwks":` + public + `}}`, `{"encryption":null,"leaveOutRepeats":true}`, `{"encryption":"x"}`} {
				w.consumer.do(t, http.MethodPatch, w.base, body, "Content-Type", "application/merge-patch+json").problem(t, http.StatusForbidden, "portal-only")
			}
		}
		refused()
		got := set(public)
		if got.Encryption == nil || got.Encryption.JWKSURI != "" || !strings.Contains(string(got.Encryption.JWKS), "theirs") {
			t.Errorf("%+v", got.Encryption)
		}
		refused()
		w.publisher.publish(t, sampleEvent("1")).want(t, http.StatusAccepted)
		plain, kind := pulledData(t, key, w.receive(t, `{}`, 1).Details[0].Event)
		if plain != `{"studentId":"1234"}` || kind != jwe.MediaType {
			t.Errorf("%s of type %s", plain, kind)
		}
		set(`{"exp":4000000000,` + public[1:])
		w.publisher.publish(t, sampleEvent("2")).want(t, http.StatusAccepted)
		w.clock.Advance(100 * 365 * 24 * time.Hour)
		w.consumer = w.consumerOf(t, w.sub.PartnerID)
		w.consumer.postJSON(t, w.base+"/receive", `{}`).want(t, http.StatusServiceUnavailable)
		if set("").Encryption != nil {
			t.Error("it was not switched off")
		}
	})
}

// Data for a health party cannot be encrypted by its subscription: nothing could be sent. It is refused at the request, at a change, and where the
// subscription was there before the party.
func TestSubscriptionEncryptionOfHealthParty(t *testing.T) {
	t.Parallel()
	w := newAMQPWorld(t).filled(t)
	w.withCatalogue(t)
	_, public := recipientKey(t)
	form := url.Values{"types": {"nl.example.student.enrolled"}, "endpoint": {w.endpoint}, "purpose": {"To keep our records up to date."}, "encryption": {public}}
	wantPage(t, w.staff.post("/partner/subscriptions/new", form), http.StatusUnprocessableEntity, `href="#encryption"`, "agreement with the party of this endpoint")
	form.Del("encryption")
	here := redirected(t, w.staff.post("/partner/subscriptions/new", form))
	wantPage(t, w.staff.post(here+"/encryption", url.Values{"encryption": {public}}), http.StatusUnprocessableEntity, `href="#encryption"`, "agreement with the party of this endpoint")

	e := must(w.reg.Endpoints.Create(t.Context(), w.portalHarness.admin, w.owner, partners.EndpointInput{Name: "Later", Kind: store.EndpointAMQP}))(t)
	form.Set("encryption", public)
	form.Set("endpoint", e.ID)
	here = redirected(t, w.staff.post("/partner/subscriptions/new", form))
	party := w.partyForm("endpoint", e.ID, "herId", "300")
	wantPage(t, w.staff.post("/partner/amqp/parties", party), http.StatusConflict, "Turn the encryption of the subscriptions to this endpoint off first")
	wantRedirect(t, w.staff.post(here+"/encryption", url.Values{"encryption": {""}}), here)
	wantStatus(t, w.staff.post("/partner/amqp/parties", party), http.StatusSeeOther)
}

// The API refuses it too, at the member.
func TestSubscriptionEncryptionOfHealthPartyAPI(t *testing.T) {
	t.Parallel()
	h := bridged(t)
	p := h.newPartner(t, "Legekontor")
	b := must(h.reg.AMQP.CreateBroker(t.Context(), registry.SystemActor(), registryamqp.BrokerInput{Name: "Exchange", Dialect: store.AMQPRabbitMQ4, URL: "amqps://broker.example", SASL: store.AMQPAnonymous, Enabled: true}))(t)
	e := store.Endpoint{PartnerID: p.ID, Name: "Queues", Kind: store.EndpointAMQP, Status: store.EndpointActive}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertEndpoint(t.Context(), &e) }))
	must(h.reg.AMQP.CreateCounterpart(t.Context(), registry.SystemActor(), e.ID, registryamqp.PartyInput{BrokerID: b.ID, Kind: store.AMQPHealth, Name: "Legekontor", HerID: 200, Enabled: true}))(t)
	_, public := recipientKey(t)
	body := `{"endpointId":"` + e.ID + `","types":["nl.example.student.enrolled"],"purpose":"To know.","encryption":{"jwks":` + public + `}}`
	refused := h.consumer(t, p.ID).postJSON(t, "/events/v1/subscriptions", body)
	refused.problem(t, http.StatusBadRequest, "invalid")
	if text := string(refused.body); !strings.Contains(text, `"/encryption"`) || !strings.Contains(text, "agreement with the party of this endpoint") {
		t.Error(text)
	}
}

// pulledData decrypts what a consumer that pulls got.
func pulledData(t *testing.T, key *ecdsa.PrivateKey, ev json.RawMessage) (plain, kind string) {
	t.Helper()
	var in struct{ Datacontenttype, Data string }
	noError(t, json.Unmarshal(ev, &in))
	parsed := must(jose.ParseEncryptedCompact(in.Data, []jose.KeyAlgorithm{jose.ECDH_ES_A256KW}, []jose.ContentEncryption{jose.A256GCM}))(t)
	return string(must(parsed.Decrypt(key))(t)), in.Datacontenttype
}

// What is stored apart leaves encrypted too, for whose subscription asks for that; the publisher reads what it sent.
func TestLargeDataIsEncrypted(t *testing.T) {
	t.Parallel()
	w := newLargeWorld(t)
	key, public := recipientKey(t)
	noError(t, w.reg.Subscriptions.SetEncryption(t.Context(), registry.SystemActor(), w.sub.ID, public))
	body, data := largeEvent("large-1", 300_000)
	w.publisher.publish(t, body).want(t, http.StatusAccepted)
	address, _ := w.address(t)
	answer := w.consumer.get(t, address).want(t, http.StatusOK)
	sealed := must(jose.ParseEncryptedCompact(string(answer.body), []jose.KeyAlgorithm{jose.ECDH_ES_A256KW}, []jose.ContentEncryption{jose.A256GCM}))(t)
	if plain := must(sealed.Decrypt(key))(t); !bytes.Equal(plain, data) || answer.header.Get("Content-Type") != jwe.MediaType || sealed.Header.ExtraHeaders["cty"] != "application/pdf" {
		t.Errorf("%d bytes as %s, %v", len(plain), answer.header.Get("Content-Type"), sealed.Header)
	}
	if got := w.publisher.get(t, address).want(t, http.StatusOK); !bytes.Equal(got.body, data) {
		t.Error("the publisher gets other bytes")
	}
}
