package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
	"schakel/web/api"
	"schakel/web/site"
)

// everything makes a client of the own organisation that may do all but publish.
func (h *apiHarness) everything(t testing.TB) *apiClient {
	t.Helper()
	return h.newClient(t, "", identity.NewClient{
		Scopes: []string{site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite, site.ScopeMutationsRead, site.ScopeMutationsPublish},
	})
}

// under sends a JSON request with a key.
func (c *apiClient) under(t testing.TB, key, method, target, body string, pairs ...string) apiAnswer {
	t.Helper()
	media := "application/json"
	if strings.HasSuffix(target, "/versions") {
		media = "application/yaml"
	}
	return c.do(t, method, target, body, append(pairs, "Content-Type", media, "Idempotency-Key", key)...)
}

// A repeated change of any kind gets the first answer, also once the state has gone
// on; with other content it is refused, and another client's key is its own.
//
// Rules: IDEM-01, IDEM-03, IDEM-05, IDEM-11, IDEM-14, IDEM-16, IDEM-I02, IDEM-I06, IDEM-I07
func TestOnceForEveryChange(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil).withCatalogue(t)
		c, other := h.everything(t), h.everything(t)
		endpoint := h.newEndpoint(t, h.own.ID)
		body := fmt.Sprintf(`{"endpointId":%q,"types":["nl.example.student.enrolled"],"purpose":"To know who is enrolled."}`, endpoint.ID)
		subscription := ""
		for _, step := range []struct {
			method, target, body string
			status               int
		}{
			{"POST", "/events/v1/subscriptions", body, 201},
			{"PATCH", "/events/v1/subscriptions/{s}", `{"filters":[{"prefix":{"subject":"a"}}]}`, 200},
			{"DELETE", "/events/v1/subscriptions/{s}", "", 204},
			{"POST", "/events/v1/resends", `{"reason":"failed"}`, 202},
			{"POST", "/registry/v1/contracts", `{"id":"keyed","kind":"asyncapi","title":"Keyed","visibility":"public"}`, 201},
			{"POST", "/registry/v1/contracts/keyed/versions", strings.ReplaceAll(sampleContract, "nl.example.student", "nl.example.keyed"), 201},
			{"POST", "/registry/v1/contracts/keyed/versions/1.0.0/publication", "", 200},
			{"POST", "/registry/v1/contracts/keyed/versions/1.0.0/deprecation", `{"reason":"old"}`, 200},
			{"DELETE", "/registry/v1/contracts/keyed/versions/1.0.0/deprecation", "", 200},
			{"POST", "/registry/v1/contracts/keyed/versions/1.0.0/withdrawal", `{"reason":"wrong"}`, 200},
		} {
			target, key := strings.Replace(step.target, "{s}", subscription, 1), freshKey()
			pairs := c.reviewed(t, target)
			first := c.under(t, key, step.method, target, step.body, pairs...).want(t, step.status)
			if step.status == http.StatusCreated && subscription == "" {
				subscription = first.member(t, "id").(string)
			}
			for range 2 {
				wantSameAnswer(t, first, c.under(t, key, step.method, target, step.body, pairs...))
			}
			c.under(t, key, step.method, target, step.body+" ", pairs...).problem(t, http.StatusUnprocessableEntity, "key-reused")
			if got := other.under(t, key, step.method, target, step.body+" "); got.status == http.StatusUnprocessableEntity {
				t.Errorf("%s %s: another client meets a key that is not its own", step.method, target)
			}
		}
	}, storetest.WithClock(clock))
}

// One key may be used for one request of each operation.
//
// Rules: E13.
func TestKeysAreApartForEachOperation(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c, key := h.everything(t), freshKey()
	c.under(t, key, "POST", "/events/v1/resends", `{}`).want(t, http.StatusAccepted)
	c.under(t, key, "POST", "/registry/v1/contracts", `{"id":"apart","kind":"asyncapi","title":"Apart","visibility":"public"}`).want(t, http.StatusCreated)
	c.under(t, key, "DELETE", "/events/v1/subscriptions/sub_none", "").want(t, http.StatusNotFound)
}

func wantSameAnswer(t *testing.T, first, again apiAnswer) {
	t.Helper()
	if again.status != first.status || string(again.body) != string(first.body) {
		t.Errorf("%d %s, first %d %s", again.status, again.body, first.status, first.body)
	}
	for _, name := range []string{"Location", "ETag", "Content-Type", "Cache-Control"} {
		if again.header.Get(name) != first.header.Get(name) {
			t.Errorf("%s %q, first %q", name, again.header.Get(name), first.header.Get(name))
		}
	}
}

// A hundred requests under one key at once do one thing, also when the program
// was started again in between.
//
// Rules: IDEM-14, IDEM-X05, E8, E12, IDEM-I06
func TestOnceForAHundredAtOnce(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newAPIHarnessOn(t, db, clock, nil)
		c, key := h.everything(t), freshKey()
		answers := make(chan apiAnswer)
		for range 100 {
			go func() { answers <- c.under(t, key, "POST", "/events/v1/resends", `{"reason":"failed"}`) }()
		}
		bodies := map[string]int{}
		for range 100 {
			switch a := <-answers; a.status {
			case http.StatusAccepted:
				bodies[string(a.body)]++
			case http.StatusConflict:
				if p := a.problem(t, http.StatusConflict, "key-in-use"); a.header.Get("Retry-After") != "1" || !strings.HasSuffix(p.Type, "/problems/key-in-use") {
					t.Errorf("%v %s", a.header, a.body)
				}
			case http.StatusTooManyRequests: // refused before its key was looked at, so nothing was done
				a.problem(t, http.StatusTooManyRequests, "too-many-counts")
			default:
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		again := newAPIHarnessOn(t, db, clock, nil)
		late := &apiClient{h: again, token: c.token}
		bodies[string(late.under(t, key, "POST", "/events/v1/resends", `{"reason":"failed"}`).want(t, http.StatusAccepted).body)]++
		if _, total, err := db.Audits(t.Context(), store.AuditFilter{Action: "deliveries.resend"}); err != nil || total != 1 || len(bodies) != 1 {
			t.Errorf("%d jobs, answers %v, %v", total, bodies, err)
		}
	}, storetest.WithClock(clock))
}

// Only what is completed is stored: what was done and refusals that stay the same.
//
// Rules: E17, IDEM-I06, IDEM-I07, IDEM-I08
func TestOnceKeepsWhatIsCompleted(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c := h.everything(t)
	contract := func(key, title string) apiAnswer {
		return c.under(t, key, "POST", "/registry/v1/contracts", `{"id":"kept","kind":"asyncapi","title":"`+title+`","visibility":"public"}`)
	}
	// 400 stays 400 under its key, and a mended request needs a new one.
	key := freshKey()
	first := contract(key, "").want(t, http.StatusBadRequest)
	wantSameAnswer(t, first, contract(key, ""))
	contract(key, "Kept").problem(t, http.StatusUnprocessableEntity, "key-reused")
	// 404 stays 404, also when there is something now.
	gone := freshKey()
	c.under(t, gone, "POST", "/registry/v1/contracts/kept/versions", sampleContract).want(t, http.StatusNotFound)
	contract(freshKey(), "Kept").want(t, http.StatusCreated)
	c.under(t, gone, "POST", "/registry/v1/contracts/kept/versions", sampleContract).want(t, http.StatusNotFound)
	// A conflict may pass: the draft is not there to publish, and then it is.
	c.under(t, freshKey(), "POST", "/registry/v1/contracts/kept/versions", sampleContract).want(t, http.StatusCreated)
	later := freshKey()
	deprecate := func() apiAnswer {
		return c.under(t, later, "POST", "/registry/v1/contracts/kept/versions/1.0.0/deprecation", "{}")
	}
	deprecate().want(t, http.StatusConflict)
	publication := "/registry/v1/contracts/kept/versions/1.0.0/publication"
	c.under(t, freshKey(), "POST", publication, "{}", c.reviewed(t, publication)...).want(t, http.StatusOK)
	deprecate().want(t, http.StatusOK)
	// So may a token, a grant and a rate: none of them takes the key.
	h.anyone().under(t, freshKey(), "POST", "/registry/v1/contracts", `{}`).want(t, http.StatusUnauthorized)
	for status, stored := range map[int]bool{
		200: true, 201: true, 202: true, 204: true, 400: true, 404: true, 410: true, 413: true, 415: true, 422: true,
		301: false, 401: false, 403: false, 408: false, 409: false, 425: false, 429: false, 500: false, 502: false, 503: false, 504: false,
	} {
		if a := (&site.RecordedAnswer{Status: status}); a.Completed() != stored {
			t.Errorf("%d kept: %v", status, a.Completed())
		}
	}
}

// Until the last microsecond of its lifetime a key answers with what is stored; then it is new.
//
// Rules: IDEM-07, E2, E6, IDEM-I05
func TestOnceUntilTheKeyIsOver(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	c, key := h.everything(t), freshKey()
	start := func() string {
		return c.under(t, key, "POST", "/events/v1/resends", `{}`).want(t, http.StatusAccepted).member(t, "resendId").(string)
	}
	first := start()
	h.clock.Advance(7*24*time.Hour - time.Microsecond)
	c.token = c.newToken(t, "")
	if again := start(); again != first {
		t.Errorf("a moment before its end the key gives %s, first %s", again, first)
	}
	h.clock.Advance(time.Microsecond)
	if again := start(); again == first {
		t.Error("the key outlives its time")
	}
}

// An answer that could not be stored leaves nothing of what it told.
//
// Rules: IDEM-17
func TestOnceKeepsBothOrNeither(t *testing.T) {
	t.Parallel()
	var broken breakingEngine
	h := newAPIHarness(t, func(cfg *api.Config) {
		broken.Engine = cfg.Engine
		cfg.Engine = &broken
	})
	c, key := h.everything(t), freshKey()
	jobs := func() int {
		_, total, err := h.db.Audits(t.Context(), store.AuditFilter{Action: "deliveries.resend"})
		noError(t, err)
		return total
	}
	for range 3 {
		if status := c.raw(key, "/events/v1/resends"); status != http.StatusInternalServerError || jobs() != 0 {
			t.Fatal("the job stayed without its answer")
		}
	}
	broken.mended.Store(true)
	for range 2 {
		c.under(t, key, "POST", "/events/v1/resends", `{}`).want(t, http.StatusAccepted)
	}
	if jobs() != 1 {
		t.Errorf("%d jobs", jobs())
	}
}

// raw posts an empty object and tells the status; an answer of 500 is not described.
func (c *apiClient) raw(key, target string) int {
	r := httptest.NewRequest(http.MethodPost, apiTestBase+target, strings.NewReader("{}"))
	r.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	w := httptest.NewRecorder()
	c.h.app.Handler().ServeHTTP(w, r)
	return w.Code
}

// breakingEngine starts a job and then fails, as when the connection to the
// database breaks at the wrong moment.
type breakingEngine struct {
	api.Engine
	mended atomic.Bool
}

// StartResend implements Engine.
func (b *breakingEngine) StartResend(ctx context.Context, actor outbox.Actor, f store.DeliveryFilter, care outbox.Care) (store.ResendJob, error) {
	job, err := b.Engine.StartResend(ctx, actor, f, care)
	if err == nil && !b.mended.Load() {
		err = errors.New("broken off after it was written")
	}
	return job, err
}

// waitingEngine tells that a job is asked for and starts it when it may.
type waitingEngine struct {
	api.Engine
	asked, may chan struct{}
}

// StartResend implements Engine.
func (w *waitingEngine) StartResend(ctx context.Context, actor outbox.Actor, f store.DeliveryFilter, care outbox.Care) (store.ResendJob, error) {
	w.asked <- struct{}{}
	<-w.may
	return w.Engine.StartResend(ctx, actor, f, care)
}

// panickingEngine panics in the middle of a change.
type panickingEngine struct{ api.Engine }

// StartResend implements Engine.
func (p panickingEngine) StartResend(context.Context, outbox.Actor, store.DeliveryFilter, outbox.Care) (store.ResendJob, error) {
	panic("the job")
}

// A panic under a key is told as our failure, never as an empty success, and frees the key.
//
// Rules: IDEM-17.
func TestPanicUnderAKey(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, func(cfg *api.Config) { cfg.Engine = panickingEngine{cfg.Engine} })
	c, key := h.everything(t), freshKey()
	for range 2 {
		if status := c.raw(key, "/events/v1/resends"); status != http.StatusInternalServerError {
			t.Errorf("status %d", status)
		}
	}
}

// While the first request with a key is handled, the second is told to wait; then
// it gets the answer of the first.
//
// Rules: IDEM-X05, IDEM-I06, E12.
func TestKeyInUse(t *testing.T) {
	t.Parallel()
	wait := waitingEngine{asked: make(chan struct{}), may: make(chan struct{})}
	h := newAPIHarness(t, func(cfg *api.Config) {
		wait.Engine = cfg.Engine
		cfg.Engine = &wait
	})
	c, key := h.everything(t), freshKey()
	start := func() apiAnswer { return c.under(t, key, "POST", "/events/v1/resends", `{}`) }
	first := make(chan apiAnswer)
	go func() { first <- start() }()
	<-wait.asked
	if second := start(); second.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", second.header.Get("Retry-After"))
	} else {
		second.problem(t, http.StatusConflict, "key-in-use")
	}
	close(wait.may)
	wantSameAnswer(t, (<-first).want(t, http.StatusAccepted), start())
}

// keyless are the operations that need no key, and what their description says of it.
func keyless() map[string]string {
	const tokens = "Takes no Idempotency-Key: "
	return map[string]string{
		"receiveEvents": tokens, "acknowledgeEvents": tokens, "releaseEvents": tokens, "rejectEvents": tokens, "renewLocks": tokens,
		"validateDocument": tokens, "previewResend": tokens, "validateEvent": tokens, "requestToken": "",
	}
}

// TestEveryChangeTakesAKey walks the descriptions: whatever changes something tells
// of the key, looks at it before all else, and needs one when the chain says so.
//
// Rules: IDEM-01, IDEM-03, IDEM-04, IDEM-05, IDEM-18, E5
func TestEveryChangeTakesAKey(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	h := newAPIHarness(t, nil)
	all := h.newClient(t, "", identity.NewClient{
		Scopes:       []string{site.ScopeEventsPublish, site.ScopeEventsConsume, site.ScopeSubscriptionsWrite, site.ScopeRegistryRead, site.ScopeRegistryWrite, site.ScopeMutationsRead, site.ScopeMutationsPublish},
		PublishTypes: []string{"nl.example.student.*"}, PublishSources: []string{"urn:nld:oin:*"},
	})
	walked := 0
	for _, doc := range h.spec.docs {
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				if method == http.MethodGet {
					continue
				}
				if said, free := keyless()[operation.OperationID]; free {
					if !strings.Contains(operation.Description, said) {
						t.Errorf("%s does not say why it needs no key", operation.OperationID)
					}
					continue
				}
				walked++
				wantKeyParameter(t, operation)
				target := base(doc, item) + strings.NewReplacer("{", "", "}", "").Replace(path)
				// Nothing else of the request is right: its key comes first, before size, format and content.
				all.do(t, method, target, strings.Repeat("x", 20<<20), "Content-Type", "text/plain", "Idempotency-Key", "wrong").problem(t, http.StatusBadRequest, "key-invalid")
			}
		}
	}
	if walked < 10 {
		t.Errorf("only %d operations walked", walked)
	}
}

func wantKeyParameter(t *testing.T, operation *openapi3.Operation) {
	t.Helper()
	p := operation.Parameters.GetByInAndName(openapi3.ParameterInHeader, "Idempotency-Key")
	if p == nil || p.Required != slices.Contains([]string{"publishEvents", "publishMutationGroups"}, operation.OperationID) {
		t.Errorf("%s: parameter %+v", operation.OperationID, p)
	}
	for _, status := range []string{"400", "409", "422"} {
		if operation.Responses.Value(status) == nil {
			t.Errorf("%s does not tell of %s", operation.OperationID, status)
		}
	}
}

// unasked are operations for which the setting for writes does not count: events have one of their own, and clients of
// PDOK's API send no key when they ask for a download.
func unasked() []string {
	return []string{"publishEvents", "requestDeltaDownload", "requestDeltaDownloadAsPdok", "requestFullDownload"}
}

// TestKeyCanBeAskedOfEveryChange: with the strict setting each change needs a key.
//
// Rules: IDEM-03, IDEM-04
func TestKeyCanBeAskedOfEveryChange(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil)
	h.set(t, "idempotency.require_key_on_writes", registry.PolicyRequire, "idempotency.require_key_on_delete", registry.PolicyRequire)
	c := h.everything(t)
	for _, doc := range h.spec.docs {
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				if _, free := keyless()[operation.OperationID]; free || method == http.MethodGet || slices.Contains(unasked(), operation.OperationID) {
					continue
				}
				target := base(doc, item) + strings.NewReplacer("{", "", "}", "").Replace(path)
				c.do(t, method, target, "{}", "Content-Type", "application/json").problem(t, http.StatusBadRequest, "key-missing")
			}
		}
	}
}
