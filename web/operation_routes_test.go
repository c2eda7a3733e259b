package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"schakel/delivery/outbox"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// breakingEngine starts a job and then fails, as when the connection to the
// database breaks at the wrong moment.
type breakingEngine struct {
	api.Engine
	mended atomic.Bool
}

// StartJob implements Engine.
func (b *breakingEngine) StartJob(ctx context.Context, actor outbox.Actor, action string, f store.DeliveryFilter, reason string) (store.ResendJob, error) {
	job, err := b.Engine.StartJob(ctx, actor, action, f, reason)
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

// StartJob implements Engine.
func (w *waitingEngine) StartJob(ctx context.Context, actor outbox.Actor, action string, f store.DeliveryFilter, reason string) (store.ResendJob, error) {
	w.asked <- struct{}{}
	<-w.may
	return w.Engine.StartJob(ctx, actor, action, f, reason)
}

// panickingEngine panics in the middle of a change.
type panickingEngine struct{ api.Engine }

// StartJob implements Engine.
func (p panickingEngine) StartJob(context.Context, outbox.Actor, string, store.DeliveryFilter, string) (store.ResendJob, error) {
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
