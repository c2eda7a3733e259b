package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/outbound"
	"schakel/delivery/outbox"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/store"
	"schakel/web/site"
)

// receivers stands for the hosts that a portal sends to: those named gone do not exist.
type receivers struct {
	mu   sync.Mutex
	sent []string // addresses, the newest last
}

func (r *receivers) Send(_ context.Context, to webhook.Target, _ webhook.Message) webhook.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, to.URL)
	if strings.Contains(to.URL, "gone.") {
		return webhook.Outcome{Kind: webhook.ErrorKind(outbound.KindDNS), Detail: "no such host", StartedAt: time.Now()}
	}
	return webhook.Outcome{Status: http.StatusAccepted, StartedAt: time.Now()}
}

func (r *receivers) SendBatch(ctx context.Context, to webhook.Target, _ []byte, _ string) webhook.Outcome {
	return r.Send(ctx, to, webhook.Message{})
}

func (r *receivers) got(address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.sent, address)
}

// newSendingPortal is the portal with an engine that runs and sends to these hosts.
func newSendingPortal(t *testing.T) (*portalHarness, *receivers) {
	t.Helper()
	hosts := &receivers{}
	h := newPortalHarness(t, func(cfg *site.PortalConfig) {
		engine := outbox.New(outbox.Config{DB: cfg.DB, Transports: map[string]outbox.Transport{
			store.EndpointWebhook: &outbox.Webhook{
				Sender: hosts, Schedule: webhook.DefaultSchedule(), Now: cfg.DB.Now, Encrypter: cfg.Encrypter, Open: func(store.Endpoint) (string, error) { return "x", nil },
			},
		}, Now: cfg.DB.Now})
		noError(t, engine.Start(t.Context()))
		t.Cleanup(func() { _ = engine.Stop(context.WithoutCancel(t.Context())) })
		cfg.Engine = engine
	})
	return h, hosts
}

// fails opens the circuit of an endpoint.
func (d *portalHarness) fails(t *testing.T, endpoint string) {
	t.Helper()
	noError(t, d.db.Write(t.Context(), func(tx *store.Tx) error {
		e, err := tx.Endpoint(t.Context(), idOf(endpoint))
		if err != nil {
			return err
		}
		e.Circuit, e.CircuitFailures, e.CircuitOpenedAt, e.CircuitProbeAt = store.CircuitOpen, 12, tx.Now, store.At(tx.Now.Add(15*time.Minute))
		return tx.SaveCircuit(t.Context(), &e)
	}))
}

// A changed address is tested at once, and the page shows the outcome. The address before stands there with a way back, and the failures of
// one address do not stop what goes to the other.
func TestChangedAddressIsTestedAtOnce(t *testing.T) {
	t.Parallel()
	h, hosts := newSendingPortal(t)
	b, _ := h.at(t, "pat@example.nl")
	const good, gone = "https://roc.example.nl/events", "https://gone.example.nl/events?key=a"
	here := newEndpoint(t, b)
	lacks(t, text(b.get(here)), "Previous address")
	saved := redirected(t, b.post(here, endpointForm("url", gone)))
	page := text(b.get(saved))
	wantWords(t, page, "did not arrive", "gone.example.nl", "Previous address", good)
	if !hosts.got(gone) {
		t.Fatal("the new address was not tested")
	}
	shown := text(b.get(here))
	wantWords(t, shown, "Previous address", good)
	wantWords(t, text(h.colleague(t, store.RoleOperator, "").get("/admin/endpoints/"+idOf(here))), "Previous address", good)
	back := strings.ReplaceAll(match(t, `href="[^"]*/edit\?[^"]*"`, shown), "&amp;", "&")
	form := text(b.get(strings.Trim(strings.TrimPrefix(back, "href="), `"`)))
	wantWords(t, match(t, `<input[^>]*name="url"[^>]*>`, form), good)

	h.fails(t, here)
	saved = redirected(t, b.post(here, endpointForm())) // the host changed, so the secret is asked again
	wantWords(t, text(b.get(saved)), "It works", gone)
	if e := must(h.db.Endpoint(t.Context(), idOf(here)))(t); e.Circuit != store.CircuitClosed || e.CircuitFailures != 0 {
		t.Errorf("the circuit is %s after %d failures of another address", e.Circuit, e.CircuitFailures)
	}

	h.fails(t, here)
	wantRedirect(t, b.post(here, endpointForm("tokenSecret", "", "name", "Other name")), here) // the same address
	if e := must(h.db.Endpoint(t.Context(), idOf(here)))(t); e.Circuit != store.CircuitOpen {
		t.Error("another name closes the circuit")
	}
}

// A changed destination that waits is not tested, and changes nothing of the circuit, until it is approved.
func TestWaitingAddressIsTestedOnceApproved(t *testing.T) {
	t.Parallel()
	h, hosts := newSendingPortal(t)
	b, _ := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	const next = "https://next.example.nl/events"
	h.change(t, "sending.new_destination", registry.DestinationApproval)
	h.fails(t, here)
	wantRedirect(t, b.post(here, endpointForm("url", next, "tokenSecret", "hush-hush")), here+"/move")
	if e := must(h.db.Endpoint(t.Context(), idOf(here)))(t); e.Circuit != store.CircuitOpen || hosts.got(next) {
		t.Fatalf("before it is approved: %s, sent %v", e.Circuit, hosts.sent)
	}
	lacks(t, text(b.get(here)), "Previous address")
	admin := h.browser().login(t, testEmail)
	move := "/admin/endpoints/" + idOf(here) + "/move"
	id := regexp.MustCompile(`name="move" value="([^"]+)"`).FindStringSubmatch(text(admin.get(move)))
	outcome := redirected(t, admin.post(move+"/approve", url.Values{"move": {id[1]}}))
	wantWords(t, text(admin.get(outcome)), "Delivered")
	if e := must(h.db.Endpoint(t.Context(), idOf(here)))(t); e.Circuit != store.CircuitClosed || !hosts.got(next) {
		t.Errorf("once it is approved: %s, sent %v", e.Circuit, hosts.sent)
	}
	wantWords(t, text(b.get(here)), "Previous address", "https://roc.example.nl/events")
}
