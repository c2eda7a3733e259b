package web

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"schakel/delivery/filter"
	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/export"
	"schakel/delivery/mutation/ingest"
	"schakel/delivery/outbox"
	"schakel/delivery/pull"
	"schakel/delivery/window"
	"schakel/registry"
	"schakel/registry/contracts"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/registry/services"
	"schakel/store"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

const apiTestBase = "http://schakel.example.nl"

// apiHarness is the real router with the real services and engine on a real
// database. Every answer is held against the OpenAPI documents.
type apiHarness struct {
	app      *site.App
	db       *store.DB
	clock    *storetest.Clock
	reg      *services.Services
	engine   *outbox.Engine
	exporter *export.Exporter
	own      store.Partner
	spec     *apiSpecs
	mirror   mirrorClient // fetches from registers that are mirrored
}

func newAPIHarness(t testing.TB, change func(*api.Config)) *apiHarness {
	t.Helper()
	clock := storetest.NewClock()
	return newAPIHarnessOn(t, storetest.SQLite(t, storetest.WithClock(clock)), clock, change)
}

func newAPIHarnessOn(t testing.TB, db *store.DB, clock *storetest.Clock, change func(*api.Config)) *apiHarness {
	t.Helper()
	return newCertifiedHarness(t, db, clock, nil, nil, change)
}

// newCertifiedHarness has APIs that ask for client certificates by a policy.
func newCertifiedHarness(t testing.TB, db *store.DB, clock *storetest.Clock, policy *site.CertificatePolicy, frame func(*site.AppConfig), change func(*api.Config)) *apiHarness {
	t.Helper()
	h := &apiHarness{db: db, clock: clock, spec: loadSpecs(t), mirror: mirrorClient{Client: &http.Client{}}}
	log := slog.New(slog.DiscardHandler)
	accounts := must(identity.NewAccounts(db, clock.Now, identity.WithWeakPasswords()))(t)
	vault := must(registry.VaultFromKey(bytes.Repeat([]byte{7}, 32)))(t)
	encrypter := newEncrypter(vault, clock.Now)
	h.reg = must(services.New(registry.Config{
		CheckRecipient: encrypter.Check,
		DB:             db, Now: clock.Now, Log: log, BaseURL: apiTestBase, Organisation: "Schakel Example", Vault: vault, Profile: profile.LenientProfile(),
		MirrorHTTP: &h.mirror, CheckFilters: filter.Check, CheckWindows: window.Check, CheckURL: func(string) error { return nil }, AllowOpenEndpoints: true, ServedKinds: []string{store.EndpointWebhook, store.EndpointPull, store.EndpointFiles},
		ReadArea: area.Boundary, TokenIssuers: []string{"other"}, Certificates: policy != nil, ClientTLS: policy != nil,
	}, accounts))(t)
	h.own = must(h.reg.Partners.EnsureOwn(t.Context(), "Schakel Example", ""))(t)
	issuing := token.Config{
		Issuer: apiTestBase, LiveAuthMethods: h.reg.Clients.AuthMethods, Scopes: identity.AllScopes(),
		Clients: h.reg.Clients, Replay: db, Keys: h.reg.SigningKeys, Now: clock.Now,
	}
	if policy != nil {
		issuing.CheckChain, issuing.Certificates = policy.Check, true
	}
	issuer := must(token.New(issuing))(t)
	pulls := pull.New(pull.Config{DB: db, Now: clock.Now, Log: log, Encrypter: encrypter})
	h.engine = outbox.New(outbox.Config{DB: db, Now: clock.Now, Log: log, OnReady: pulls.Wake, Live: h.policy, WhyNot: h.reg.Clients.WhyNot})
	noError(t, h.engine.Start(t.Context()))
	t.Cleanup(func() { _ = h.engine.Stop(context.WithoutCancel(t.Context())) })
	h.exporter = export.New(export.Config{DB: db, Now: clock.Now, Log: log, Node: "test"})
	cfg := api.Config{DB: db, Engine: h.engine, Pull: pulls, Issuer: issuer, Registry: h.reg, Exporter: h.exporter, Ingester: ingest.New(ingest.Config{DB: db}), Encrypter: encrypter}
	cfg.Checks = newChecks(t, db, clock.Now, h.reg)
	if change != nil {
		change(&cfg)
	}
	app := site.AppConfig{
		BaseURL: &url.URL{Scheme: "http", Host: "schakel.example.nl"}, Now: clock.Now, Log: log,
		Accounts: accounts, Sessions: db, Tokens: cfg.Issuer, Certificates: policy,
	}
	if frame != nil {
		frame(&app)
	}
	h.app = must(New(Config{AppConfig: app, API: &cfg}))(t)
	return h
}

// newPartner makes an approved partner.
func (h *apiHarness) newPartner(t testing.TB, name string) store.Partner {
	t.Helper()
	p := store.Partner{Name: name, Status: store.PartnerApproved}
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.InsertPartner(t.Context(), &p) }))
	return p
}

// apiClient calls our APIs as one client, with a token when it has one.
type apiClient struct {
	h      *apiHarness
	id     string
	secret string
	token  string
}

// newClient makes a client with what it asks for granted, and a token.
func (h *apiHarness) newClient(t testing.TB, partnerID string, in identity.NewClient) *apiClient {
	t.Helper()
	in.Name, in.AuthMethod, in.SourceReason = "Client of "+partnerID, token.ClientSecretBasic, "It relays for others."
	row, secret, err := h.reg.Clients.Create(t.Context(), registry.SystemActor(), partnerID, in)
	noError(t, err)
	c := &apiClient{h: h, id: row.ID, secret: secret}
	c.token = c.newToken(t, "")
	return c
}

// publisher makes a client that may publish the types of the sample contract.
func (h *apiHarness) publisher(t testing.TB, partnerID string) *apiClient {
	t.Helper()
	return h.newClient(t, partnerID, identity.NewClient{
		Scopes: []string{site.ScopeEventsPublish}, PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"urn:nld:oin:*"},
	})
}

// consumer makes a client that subscribes and reads.
func (h *apiHarness) consumer(t testing.TB, partnerID string) *apiClient {
	t.Helper()
	return h.newClient(t, partnerID, identity.NewClient{Scopes: []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead}})
}

// writer makes a client of the own organisation that maintains contracts.
func (h *apiHarness) writer(t testing.TB) *apiClient {
	t.Helper()
	return h.newClient(t, "", identity.NewClient{Scopes: []string{site.ScopeRegistryWrite, site.ScopeRegistryRead}})
}

// anyone calls without a token.
func (h *apiHarness) anyone() *apiClient { return &apiClient{h: h} }

func (c *apiClient) newToken(t testing.TB, scope string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}}
	if scope != "" {
		form.Set("scope", scope)
	}
	basic := &apiClient{h: c.h}
	answer := basic.do(t, http.MethodPost, "/oauth/token", form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Authorization", basicAuth(c.id, c.secret))
	answer.want(t, http.StatusOK)
	return answer.member(t, "access_token").(string)
}

func basicAuth(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(url.QueryEscape(user), url.QueryEscape(password))
	return r.Header.Get("Authorization")
}

// apiAnswer is an answer whose body was read.
type apiAnswer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request; pairs are headers.
func (c *apiClient) do(t testing.TB, method, target, body string, pairs ...string) apiAnswer {
	t.Helper()
	r := httptest.NewRequest(method, apiTestBase+target, strings.NewReader(body))
	r.RequestURI = target
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header[http.CanonicalHeaderKey(pairs[i])] = append(r.Header[http.CanonicalHeaderKey(pairs[i])], pairs[i+1])
	}
	w := httptest.NewRecorder()
	c.h.app.Handler().ServeHTTP(w, r)
	answer := apiAnswer{status: w.Code, header: w.Result().Header, body: w.Body.Bytes()}
	c.h.spec.check(t, method, target, answer)
	return answer
}

func (c *apiClient) get(t testing.TB, target string) apiAnswer {
	t.Helper()
	return c.do(t, http.MethodGet, target, "")
}

func (c *apiClient) postJSON(t testing.TB, target, body string) apiAnswer {
	t.Helper()
	return c.do(t, http.MethodPost, target, body, "Content-Type", "application/json")
}

// publish posts an event in structured mode under a new key.
func (c *apiClient) publish(t testing.TB, body string) apiAnswer {
	t.Helper()
	return c.do(t, http.MethodPost, "/events/v1/events", body, "Content-Type", "application/cloudevents+json", "Idempotency-Key", freshKey())
}

func freshKey() string { return `"` + uuid.NewString() + `"` }

func (a apiAnswer) want(t testing.TB, status int) apiAnswer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// problem expects a problem with this status and code.
func (a apiAnswer) problem(t testing.TB, status int, code string) site.Problem {
	t.Helper()
	a.want(t, status)
	var p site.Problem
	noError(t, json.Unmarshal(a.body, &p))
	if got := a.header.Get("Content-Type"); p.Code != code || p.Status != status || got != "application/problem+json" {
		t.Fatalf("code %q status %d as %s, want %q: %s", p.Code, p.Status, got, code, a.body)
	}
	return p
}

func (a apiAnswer) decode(t testing.TB, into any) {
	t.Helper()
	noError(t, json.Unmarshal(a.body, into))
}

// decoded is an answer as a type of the test.
func decoded[T any](t testing.TB, a apiAnswer) (v T) {
	t.Helper()
	a.decode(t, &v)
	return v
}

func (a apiAnswer) member(t testing.TB, name string) any {
	t.Helper()
	all := decoded[map[string]any](t, a)
	return all[name]
}

// publishVersion publishes the draft at a path of the register's API as it is now; pairs are headers.
func (c *apiClient) publishVersion(t testing.TB, target, body string, pairs ...string) apiAnswer {
	t.Helper()
	if body != "" {
		pairs = append(pairs, "Content-Type", "application/json")
	}
	target += "/publication"
	return c.do(t, http.MethodPost, target, body, append(pairs, c.reviewed(t, target)...)...)
}

// reviewed is the If-Match of a request to publish the draft as it is now; nothing for the path of another request.
func (c *apiClient) reviewed(t testing.TB, target string) []string {
	t.Helper()
	version, publishes := strings.CutSuffix(target, "/publication")
	if !publishes {
		return nil
	}
	digest, _ := c.get(t, version).member(t, "digest").(string)
	return []string{"If-Match", strconv.Quote(digest)}
}

// publishDraft publishes a draft as the register holds it now.
func publishDraft(ctx context.Context, reg *services.Services, by registry.Actor, id, version, reason string) (store.ContractVersion, error) {
	v, err := reg.Contracts.Version(ctx, registry.Reader{Administrator: true}, id, version)
	if err != nil {
		return v, err
	}
	return reg.Contracts.Publish(ctx, by, id, version, contracts.PublishInput{Digest: v.Digest, Reason: reason})
}

// sampleContract defines the event types of these tests.
const sampleContract = `asyncapi: 3.1.0
info:
  title: Example of student events
  version: 1.0.0
channels:
  students:
    address: students
    messages:
      enrolled:
        name: nl.example.student.enrolled
        title: A student was enrolled
        payload: {type: [object, "null"], properties: {studentId: {type: string}}}
      left:
        name: nl.example.student.left
        payload: {type: [object, "null"]}
operations:
  send:
    action: send
    channel: {$ref: '#/channels/students'}
`

// withCatalogue publishes the sample contract.
func (h *apiHarness) withCatalogue(t testing.TB) *apiHarness {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	must(h.reg.Contracts.Create(ctx, actor, contracts.ContractInput{
		ID: "student-events", Kind: "asyncapi", Title: "Student events", Visibility: store.VisibilityPartners,
	}))(t)
	must(h.reg.Contracts.Upload(ctx, actor, "student-events", contracts.Upload{Content: []byte(sampleContract)}))(t)
	must(publishDraft(ctx, h.reg, actor, "student-events", "1.0.0", ""))(t)
	return h
}

// newEndpoint makes a webhook of a partner.
func (h *apiHarness) newEndpoint(t testing.TB, partnerID string) store.Endpoint {
	t.Helper()
	return must(h.reg.Endpoints.Create(t.Context(), registry.SystemActor(), partnerID, partners.EndpointInput{
		Name: "Endpoint " + partnerID, Kind: store.EndpointWebhook, URL: "https://" + strings.ToLower(partnerID[4:]) + ".example.nl/events", TokenAuthMethod: registry.TokenAuthNone,
	}))(t)
}

// approvedSubscription subscribes a partner to the enrolled type.
func (h *apiHarness) approvedSubscription(t testing.TB, partnerID string) store.Subscription {
	t.Helper()
	ctx, actor := t.Context(), registry.SystemActor()
	endpoint := h.newEndpoint(t, partnerID)
	s := must(h.reg.Subscriptions.Request(ctx, actor, partners.SubscriptionRequest{
		EndpointID: endpoint.ID, Types: []string{"nl.example.student.enrolled"}, Purpose: "To know who is enrolled.",
	}))(t)
	noError(t, h.reg.Subscriptions.Approve(ctx, actor, s.ID))
	h.engine.Changed()
	return s
}

// sampleEvent is a valid event; extra members go in front.
func sampleEvent(id string, extra ...string) string {
	return `{` + strings.Join(append(extra, ""), ",") + `"specversion":"1.0","id":"` + id + `","source":"urn:nld:oin:00000001823288444000:sis",` +
		`"type":"nl.example.student.enrolled","datacontenttype":"application/json","data":{"studentId":"1234"}}`
}

// eventCount counts the events that are stored.
func (h *apiHarness) eventCount(t testing.TB) int {
	t.Helper()
	_, total, err := h.db.Events(t.Context(), store.EventFilter{})
	noError(t, err)
	return total
}

// clientWithScope makes a client of the own organisation with one scope.
func (h *apiHarness) clientWithScope(t testing.TB, scope string) *apiClient {
	t.Helper()
	in := identity.NewClient{Scopes: []string{scope}}
	if scope == site.ScopeEventsPublish {
		in.PublishTypes, in.PublishSources = []string{"nl.example.student.*"}, []string{"*"}
	}
	return h.newClient(t, "", in)
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is the value of a call that may not fail: must(db.Partner(ctx, id))(t).
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		noError(t, err)
		return v
	}
}

// registryWrite is a client that may write contracts.
func registryWrite() identity.NewClient {
	return identity.NewClient{Scopes: []string{site.ScopeRegistryWrite, site.ScopeRegistryRead}}
}
