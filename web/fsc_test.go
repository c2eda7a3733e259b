package web

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/web/site"
)

// fakeFSC is an outway and an inway of Federated Service Connectivity, with a proxy before the outway that chooses the grant by the path, as
// the guide has it. What an inway checks of a token of FSC is reduced to its grant.
type fakeFSC struct {
	grant  string
	proxy  *httptest.Server
	mu     sync.Mutex
	passed []http.Header // of requests as the inway passed them on
	paths  []string
}

func newFakeFSC(t *testing.T, service http.Handler) *fakeFSC {
	t.Helper()
	f := &fakeFSC{grant: "$1$4$mkhX2p"}
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.passed, f.paths = append(f.passed, r.Header.Clone()), append(f.paths, r.URL.Path)
		f.mu.Unlock()
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(behind.Close)
	issued := "Bearer x." + base64.RawURLEncoding.EncodeToString([]byte(f.grant)) + ".y"
	inway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fsc-Authorization") != issued || r.Header.Get("Fsc-Transaction-Id") == "" {
			w.Header().Set("Fsc-Error-Code", "ERROR_CODE_ACCESS_TOKEN_INVALID")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		forward(behind.URL, nil).ServeHTTP(w, r)
	}))
	t.Cleanup(inway.Close)
	outway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fsc-Grant-Hash") != f.grant {
			w.Header().Set("Fsc-Error-Code", "ERROR_CODE_GRANT_UNKNOWN")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		forward(inway.URL, func(r *httputil.ProxyRequest) {
			r.Out.Header.Set("Fsc-Authorization", issued)
			r.Out.Header.Set("Fsc-Transaction-Id", uuid.NewString())
		}).ServeHTTP(w, r)
	}))
	t.Cleanup(outway.Close)
	f.proxy = httptest.NewServer(http.StripPrefix("/north", forward(outway.URL, func(r *httputil.ProxyRequest) {
		r.Out.Header.Set("Fsc-Grant-Hash", f.grant)
	})))
	t.Cleanup(f.proxy.Close)
	return f
}

func forward(to string, change func(*httputil.ProxyRequest)) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		address, err := url.Parse(to)
		if err != nil {
			panic(err)
		}
		r.SetURL(address)
		r.SetXForwarded()
		if change != nil {
			change(r)
		}
	}}
}

// TestBehindInwayAndOutway: the sender of one Schakel delivers through an outway to another behind an inway. Its own token comes the same way and
// stays in Authorization, beside that of FSC, and the event arrives as it was sent. An event without our token is refused, whatever FSC says.
//
// Rules: EDU-05, OPEN-05.
func TestBehindInwayAndOutway(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	fsc := newFakeFSC(t, h.app.Handler())
	p := h.newPartner(t, "North")
	client, secret, err := h.reg.Clients.Create(t.Context(), registry.SystemActor(), p.ID, identity.NewClient{
		Name: "Through FSC", AuthMethod: token.ClientSecretBasic, Scopes: []string{site.ScopeEventsPublish},
		PublishTypes: []string{"nl.example.student.enrolled"}, PublishSources: []string{"urn:nld:oin:00000001823288444000:sis"}, SourceReason: "A test of FSC.",
	})
	noError(t, err)
	guard := outbound.New(outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowPlainHTTP: true})
	sender := webhook.NewSender(webhook.Config{Client: guard, Logger: slog.New(slog.DiscardHandler)})
	e := must(event.ParseJSON([]byte(sampleEvent("over-fsc")), event.Limits{}))(t)
	to := webhook.Target{EndpointID: "north", URL: fsc.proxy.URL + "/north/events/v1/events", Token: &webhook.TokenConfig{
		ConfigVersion: "1", TokenURL: fsc.proxy.URL + "/north/oauth/token", ClientID: client.ID, Secret: webhook.Secret(secret), AuthMethod: webhook.AuthBasic, Scope: site.ScopeEventsPublish,
	}}
	for _, mode := range []string{webhook.ModeStructured, webhook.ModeBinary} {
		to.Mode = mode
		key := uuid.NewString()
		out := sender.Send(t.Context(), to, webhook.Message{Event: &e, Data: e.Data, IdempotencyKey: key})
		if out.Status != http.StatusAccepted {
			t.Fatalf("%s: %d %s %s", mode, out.Status, out.Kind, out.Detail)
		}
		fsc.mu.Lock()
		last, path := fsc.passed[len(fsc.passed)-1], fsc.paths[len(fsc.paths)-1]
		fsc.mu.Unlock()
		if path != "/events/v1/events" || last.Get("Idempotency-Key") != `"`+key+`"` || !strings.HasPrefix(last.Get("Authorization"), "Bearer ey") || last.Get("Fsc-Authorization") == "" ||
			last.Get("Authorization") == last.Get("Fsc-Authorization") || mode == webhook.ModeBinary && last.Get("Ce-Id") != "over-fsc" {
			t.Errorf("%s: the inway passed on %s with %v", mode, path, last)
		}
	}
	if n := h.eventCount(t); n != 1 {
		t.Errorf("%d events are stored of one that was sent twice", n)
	}
	to.EndpointID, to.Token = "tokenless", nil
	if out := sender.Send(t.Context(), to, webhook.Message{Event: &e, Data: e.Data, IdempotencyKey: uuid.NewString()}); out.Status != http.StatusUnauthorized {
		t.Errorf("without our token: %d", out.Status)
	}
	to.EndpointID, to.URL = "grantless", strings.Replace(to.URL, "/north/", "/south/", 1)
	if out := sender.Send(t.Context(), to, webhook.Message{Event: &e, Data: e.Data, IdempotencyKey: uuid.NewString()}); out.Status != http.StatusNotFound {
		t.Errorf("by a path without a grant: %d", out.Status)
	}
}
