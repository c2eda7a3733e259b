package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
)

// TestListen forwards the events of a pull subscription to a program on this machine: what the program refuses comes again under the same
// key, in order, and what it takes is acknowledged.
//
// Rules: EDU-17.
func TestListen(t *testing.T) {
	t.Parallel()
	s := trial.NewProgram(t, trial.NewPKI(t), demo.OwnA(), trial.SQLitePath(t))
	var client, sub, webhook string
	keyFile := filepath.Join(t.TempDir(), "key.jwk")
	s.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		trial.Must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
		own, err := c.Partners.Own(ctx)
		trial.Must(t, err)
		pair, err := token.NewKeyPair()
		trial.Must(t, err)
		row, _, err := c.Clients.Create(ctx, c.Admin, own.ID, identity.NewClient{
			Name: "Laptop", AuthMethod: token.PrivateKeyJWT, JWKS: pair.Public, Scopes: []string{identity.ScopeEventsPublish, identity.ScopeEventsConsume},
			PublishTypes: []string{"nl.voorbeeld.*"}, PublishSources: []string{"urn:nld:oin:" + s.Own.OIN() + ":*"},
		})
		trial.Must(t, err)
		client = row.ID
		trial.Must(t, os.WriteFile(keyFile, []byte(pair.Private), 0o600))
		endpoint, err := c.Endpoints.Create(ctx, c.Admin, own.ID, partners.EndpointInput{Name: "Pull", Kind: store.EndpointPull})
		trial.Must(t, err)
		asked, err := c.Request(ctx, registry.Actor{Kind: registry.ActorAccount, PartnerID: own.ID, Administrator: true, Name: "A"}, endpoint.ID, demo.EventTypes()...)
		trial.Must(t, err)
		trial.Must(t, c.Subscriptions.Approve(ctx, c.Admin, asked.ID))
		sub = asked.ID
		endpoint, err = c.Endpoints.Create(ctx, c.Admin, own.ID, partners.EndpointInput{
			Name: "Hook", Kind: store.EndpointWebhook, URL: "https://127.0.0.1/hook", ContentMode: "structured", TokenAuthMethod: "none",
		})
		trial.Must(t, err)
		asked, err = c.Request(ctx, registry.Actor{Kind: registry.ActorAccount, PartnerID: own.ID, Administrator: true, Name: "A"}, endpoint.ID, demo.EventTypes()...)
		trial.Must(t, err)
		webhook = asked.ID
	})
	s.Start(t)
	as := []string{"--url", s.Base, "--client-id", client, "--client-key-file", keyFile}
	for _, id := range []string{"one", "two", "three"} {
		code, out := s.Command(t, "{}", append([]string{"publish", "--type", demo.EventTypes()[0], "--source", "urn:nld:oin:" + s.Own.OIN() + ":test", "--id", id}, as...)...)
		if code != 0 {
			t.Fatalf("publish: %d\n%s", code, out)
		}
	}
	var mu sync.Mutex
	var got, keys []string
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		for _, id := range []string{"one", "two", "three"} {
			if strings.Contains(string(body), `"id":"`+id+`"`) && r.Header.Get("Content-Type") == "application/cloudevents+json; charset=utf-8" {
				got = append(got, id)
			}
		}
		if len(got) == 2 {
			w.WriteHeader(http.StatusInternalServerError) // the first try of two
		}
	}))
	defer program.Close()
	code, out := s.Command(t, "", append([]string{"listen", "--subscription", sub, "--forward", program.URL, "--once", "--retry", "10ms"}, as...)...)
	if code != 0 || strings.Join(got, " ") != "one two two three" || len(keys) != 4 || keys[1] != keys[2] || keys[0] == keys[1] {
		t.Errorf("listen: %d, the program got %v with %v\n%s", code, got, keys, out)
	}
	s.Open(t, func(db *store.DB) {
		n, err := db.CountDeliveries(context.Background(), store.DeliveryFilter{Statuses: []string{store.DeliveryDelivered}})
		if err != nil || n != 3 {
			t.Errorf("%d of 3 deliveries are acknowledged: %v", n, err)
		}
	})
	if code, out := s.Command(t, "", append([]string{"listen", "--subscription", "sub_0", "--once"}, as...)...); code == 0 || !strings.Contains(out, "404") {
		t.Errorf("listen to a subscription that is not there: %d\n%s", code, out)
	}
	if code, out := s.Command(t, "", append([]string{"listen", "--subscription", webhook}, as...)...); code != 1 || !strings.Contains(out, "Make an endpoint of kind pull") {
		t.Errorf("listen to a webhook subscription: %d\n%s", code, out)
	}
	as[1] = strings.Replace(s.Base, "localhost", "127.0.0.1", 1)
	code, out = s.Command(t, "", append([]string{"listen", "--subscription", sub}, as...)...)
	if want := "--token-audience " + s.Base + "/oauth/token, or call the Schakel by its own address, --url " + s.Base; code != 1 || !strings.Contains(out, want) {
		t.Errorf("listen at another address: %d, without %q\n%s", code, want, out)
	}
}
