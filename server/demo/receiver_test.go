package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/delivery/endpointcheck"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store/storetest"
)

// ask sends a request to a receiver and gives the status and the body.
func ask(t *testing.T, r *Receiver, method, path, token, body string) (int, string) {
	t.Helper()
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	if strings.HasPrefix(path, "/hooks/") {
		q.Header.Set("Content-Type", "application/cloudevents+json")
	}
	if path == "/token" {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		q.SetBasicAuth(r.creds.ID, r.creds.Secret)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	return w.Code, w.Body.String()
}

func eventOf(id, kind string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"urn:x","type":%q}`, id, kind)
}

func tokenOf(t *testing.T, r *Receiver) string {
	t.Helper()
	_, body := ask(t, r, "POST", "/token", "", url.Values{"grant_type": {"client_credentials"}}.Encode())
	var got struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.AccessToken == "" {
		t.Fatalf("token answer %q: %v", body, err)
	}
	return got.AccessToken
}

func TestReceiverSulksAndComesRound(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	r := NewReceiver("http://127.0.0.1:1", clock.Now)
	token := tokenOf(t, r)
	refused := map[string][]string{}
	for _, hook := range []string{HookMoody, HookStrict, "steady"} {
		for n := range 64 {
			id := fmt.Sprint("event-", n)
			for range 4 { // all the tries of the demo's schedule
				if status, _ := ask(t, r, "POST", "/hooks/"+hook, token, eventOf(id, "nl.a.b")); status == http.StatusAccepted {
					id = ""
					break
				}
			}
			if id != "" {
				refused[hook] = append(refused[hook], id)
			}
		}
	}
	if len(refused[HookMoody]) < 8 || len(refused[HookStrict]) < 3 || len(refused["steady"]) != 0 {
		t.Fatalf("refused: %v", refused)
	}
	clock.Advance(sulk)
	for hook, ids := range refused {
		for _, id := range ids {
			if status, body := ask(t, r, "POST", "/hooks/"+hook, token, eventOf(id, "nl.a.b")); status != http.StatusAccepted {
				t.Errorf("%s still refuses %s: %d %s", hook, id, status, body)
			}
		}
	}
}

func TestReceiverIsBrokenAndMended(t *testing.T) {
	t.Parallel()
	r := NewReceiver("http://127.0.0.1:1", time.Now)
	token := tokenOf(t, r)
	for _, step := range []struct {
		press string
		want  int
	}{{"", 202}, {"/break", 503}, {"/mend", 202}} {
		if step.press != "" {
			ask(t, r, "POST", step.press, "", "")
		}
		if status, _ := ask(t, r, "POST", "/hooks/steady", token, eventOf("1", "<b>t")); status != step.want {
			t.Errorf("after %q: %d, want %d", step.press, status, step.want)
		}
	}
	if status, _ := ask(t, r, "POST", "/hooks/steady", "made up", eventOf("1", "nl.a.b")); status != http.StatusUnauthorized {
		t.Errorf("a token that was not given out: %d", status)
	}
	status, page := ask(t, r, "GET", "/", "", "")
	if status != 200 || !strings.Contains(page, "Break the receiver") || strings.Contains(page, "<b>t") {
		t.Errorf("page %d: %s", status, page)
	}
}

// The receiver that everybody copies from keeps the rules that the check of endpoints tests.
func TestReceiverPassesTheCheck(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	r := NewReceiver("http://"+server.Listener.Addr().String(), time.Now)
	server.Config.Handler = r.Handler()
	server.Start()
	t.Cleanup(server.Close)
	client := outbound.New(outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowPlainHTTP: true})
	for _, mode := range []string{webhook.ModeStructured, webhook.ModeBinary} {
		target := r.Target("", "steady")
		report, err := endpointcheck.New(client, nil, time.Now).Run(t.Context(), endpointcheck.Target{
			URL: target.URL, Mode: mode, Batches: true, Source: "urn:nld:oin:00000001003214345000:systeem:demo",
			Token: &webhook.TokenConfig{TokenURL: target.TokenURL, ClientID: target.ID, Secret: webhook.Secret(target.Secret)},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Result == endpointcheck.Fault {
				t.Errorf("%s: %s: %s", mode, f.Code, f.Text)
			}
		}
		if n := report.Count(endpointcheck.Pass); n < 15 {
			t.Errorf("%s: %d points in order", mode, n)
		}
	}
}
