package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"schakel/delivery/endpointcheck"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/services"
	"schakel/store"
	"schakel/web/api"
	"schakel/web/site"
)

// newChecks makes what checks receivers of tests, on this machine and without TLS.
func newChecks(t testing.TB, db *store.DB, now func() time.Time, reg *services.Services) *endpointcheck.Runner {
	checks := endpointcheck.NewRunner(endpointcheck.RunnerConfig{
		DB: db, Checker: endpointcheck.New(outbound.New(outbound.Config{AllowPlainHTTP: true, Resolver: noNames()}), nil, now), Open: reg.Endpoints.TokenSecret,
		Signatures: func(context.Context, store.Endpoint) (webhook.Signatures, error) { return webhook.Signatures{}, nil }, Now: now, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(checks.Close)
	return checks
}

// noNames knows no name, and asks nobody.
func noNames() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}}
}

// takesAll is a receiver that takes any JSON, so that some of what it does is wrong.
func takesAll(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"access_token":"secret-token-of-the-test","token_type":"Bearer","expires_in":3600}`)
		case !strings.Contains(r.Header.Get("Content-Type"), "cloudevents"):
			w.WriteHeader(http.StatusUnsupportedMediaType)
		case !json.Valid(body):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Both sides see the report of a check: on its page, at the endpoint, in the setup and where a subscription is decided about. Another partner
// sees none and starts none.
func TestEndpointCheckPages(t *testing.T) {
	t.Parallel()
	var checks *endpointcheck.Runner
	h := newPortalHarness(t, func(c *site.PortalConfig) {
		checks = newChecks(t, c.DB, time.Now, c.Registry)
		c.Checks = checks
	})
	h.withCatalogue(t)
	b, pat := h.at(t, "pat@example.nl")
	here := newEndpoint(t, b)
	e := must(h.db.Endpoint(t.Context(), idOf(here)))(t)
	base := takesAll(t)
	e.URL, e.TokenURL = base+"/hook", base+"/token"
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateEndpoint(t.Context(), &e) }))

	// The check that begins with the endpoint finds no host.
	must(checks.Wait(t.Context(), must(h.db.EndpointChecks(t.Context(), e.ID))(t)[0], 20*time.Second))(t)
	wantPage(t, b.get(here+"/check"), http.StatusOK, "1 fault", "the name is not known", "Check endpoint")
	report := redirected(t, b.post(here+"/check", nil))
	page := wantPage(t, b.get(report), http.StatusOK, "4 faults", "A wrong secret gets no token", "An event without a token is refused with 401",
		"Have the gateway or receiver refuse", "EDU-N02", "Idempotency-Key", "[redacted]", "without TLS", "schakeltest")
	lacks(t, page, "secret-token-of-the-test", "hush-hush")
	wantWords(t, text(b.get(here)), "4 faults")
	wantWords(t, text(b.get(here+"/setup")), "4 faults", "See report")
	subscription := newSubscription(t, b, idOf(here))
	a := h.browser().login(t, testEmail)
	wantPage(t, a.get("/admin/subscriptions/"+idOf(subscription)), http.StatusOK, "Endpoint check", "4 faults", "/admin/endpoints/"+e.ID+"/check?check=chk_")
	wantWords(t, text(a.get("/admin/endpoints/"+e.ID)), "4 faults")
	wantPage(t, a.get("/admin/endpoints/"+e.ID+"/check"), http.StatusOK, "4 faults", "Started by")
	wantPage(t, a.get("/admin/audit"), http.StatusOK, "checked endpoint Records")
	redirected(t, b.post(here, endpointForm("name", "Renamed", "tokenSecret", "again")))
	wantPage(t, b.get(report), http.StatusOK, "has changed since")
	wantPage(t, a.get(strings.Replace(report, "/partner/", "/admin/", 1)), http.StatusOK, "has changed since")

	// An example of what is subscribed to goes as an event of that type.
	e = must(h.db.Endpoint(t.Context(), e.ID))(t)
	e.URL, e.TokenURL = base+"/hook", base+"/token"
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateEndpoint(t.Context(), &e) }))
	typed := redirected(t, a.post("/admin/endpoints/"+e.ID+"/check", map[string][]string{"type": {"nl.example.student.enrolled"}}))
	wantPage(t, a.get(typed), http.StatusOK, "&#34;type&#34;:&#34;nl.example.student.enrolled&#34;", "Checks so far")

	other, _ := h.at(t, "other@example.nl")
	for _, path := range []string{report, here + "/check"} {
		wantStatus(t, other.get(path), http.StatusNotFound)
	}
	wantStatus(t, other.post(here+"/check", nil), http.StatusNotFound)
	if all := must(h.db.EndpointChecks(t.Context(), e.ID))(t); len(all) != 3 || pat.PartnerID == "" {
		t.Errorf("%d checks", len(all))
	}

	// What nothing is sent to cannot be checked, nor what asked for a pause.
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.ExtendWait(t.Context(), e.ID, store.At(h.clock.Now().Add(time.Hour)))
	}))
	wantRedirect(t, b.post(here+"/check", nil), here+"/check")
	wantPage(t, b.get(here+"/check"), http.StatusOK, "asked for a pause")
}

// A machine starts a check and reads its report.
func TestEndpointCheckAPI(t *testing.T) {
	t.Parallel()
	var runner *endpointcheck.Runner
	h := newAPIHarness(t, func(c *api.Config) { runner = c.Checks })
	p := h.newPartner(t, "Checked")
	e := h.newEndpoint(t, p.ID)
	e.URL = takesAll(t) + "/hook"
	noError(t, h.db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpdateEndpoint(t.Context(), &e) }))
	c := h.consumer(t, p.ID)
	list := "/events/v1/endpoints/" + e.ID + "/checks"
	made := c.postJSON(t, list, "").want(t, http.StatusAccepted)
	at := made.header.Get("Location")
	must(runner.Wait(t.Context(), must(h.db.EndpointChecks(t.Context(), e.ID))(t)[0], 20*time.Second))(t)
	var got struct {
		Status, Result string
		Faults         int
		Current        bool
		Report         struct {
			Findings []struct{ Code, Result, Rule, Text, Remedy string }
		}
	}
	c.get(t, at).decode(t, &got)
	if got.Status != "finished" || got.Result != "fault" || got.Faults != 1 || !got.Current || len(got.Report.Findings) < 20 {
		t.Errorf("%+v", got)
	}
	if all := string(c.get(t, list).want(t, http.StatusOK).body); !strings.Contains(all, got.Result) || strings.Contains(all, "findings") {
		t.Errorf("list: %s", all)
	}
	noError(t, h.reg.Endpoints.End(t.Context(), registry.SystemActor(), e.ID, "No longer used."))
	c.postJSON(t, list, "").problem(t, http.StatusConflict, "not-checkable")
	h.publisher(t, p.ID).postJSON(t, list, "").want(t, http.StatusForbidden)
}
