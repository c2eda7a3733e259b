package outbox

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

type request struct{ kind, key, body string }

func (r request) ids(t testing.TB) (ids []string) {
	t.Helper()
	body := r.body
	if r.kind == "application/cloudevents+json" {
		body = "[" + body + "]"
	}
	var events []struct{ ID string }
	if err := json.Unmarshal([]byte(body), &events); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func (r request) batch() bool { return r.kind == "application/cloudevents-batch+json" }

type hook struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(r request) int
	got    []request
}

func newHook(t testing.TB) *hook {
	h := &hook{answer: func(request) int { return http.StatusAccepted }}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := request{r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), string(body)}
		h.mu.Lock()
		h.got = append(h.got, got)
		answer := h.answer
		h.mu.Unlock()
		w.WriteHeader(answer(got))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) set(answer func(r request) int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

func (h *hook) all() []request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// transport sends over HTTPS and retries soon.
func (h *hook) transport() *Webhook {
	roots := x509.NewCertPool()
	roots.AddCert(h.Certificate())
	client := outbound.New(outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots})
	return &Webhook{
		Sender:   webhook.NewSender(webhook.Config{Client: client, Logger: slog.New(slog.DiscardHandler)}),
		Schedule: webhook.Schedule{Waits: []time.Duration{10 * time.Millisecond}, MaxAttempts: 50}, Now: time.Now,
	}
}

func newBatchChain(t *testing.T, db *store.DB) (*chain, *hook) {
	h := newHook(t)
	c := newChain(t, db, func(cfg *Config) { cfg.Transports = map[string]Transport{store.EndpointWebhook: h.transport()} })
	return c, h
}

func eachBatchChain(t *testing.T, fn func(t *testing.T, c *chain, h *hook)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c, h := newBatchChain(t, db)
		fn(t, c, h)
	})
}

// batches makes the endpoint of a subscription the hook, with batches, and returns once the engine knows.
func (c *chain) batches(h *hook, s store.Subscription, change func(e *store.Endpoint)) {
	c.Helper()
	e := c.changeEndpoint(s.EndpointID, func(e *store.Endpoint) {
		e.URL, e.BatchEvents = h.URL, 5
		change(e)
	})
	c.known(e.ID, func(now store.Endpoint) bool { return now.ConfigVersion == e.ConfigVersion })
}

// known waits until the engine knows something of an endpoint.
func (c *chain) known(endpointID string, ok func(e store.Endpoint) bool) {
	c.Helper()
	c.waitFor(func() bool {
		c.eng.mu.Lock()
		defer c.eng.mu.Unlock()
		q := c.eng.queues[endpointID]
		return q != nil && ok(q.endpoint)
	})
}

// paused accepts events while the endpoint is paused, so that all wait when it is resumed.
func (c *chain) paused(s store.Subscription, fn func()) {
	c.Helper()
	c.pause(s.EndpointID)
	fn()
	c.endpoint(s.EndpointID, store.EndpointActive)
}

// pause returns once the engine knows.
func (c *chain) pause(endpointID string) {
	c.Helper()
	c.endpoint(endpointID, store.EndpointPaused)
	c.known(endpointID, func(e store.Endpoint) bool { return e.Status == store.EndpointPaused })
}

func numbers(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%03d", i)
	}
	return ids
}
