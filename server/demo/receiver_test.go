package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"schakel/store/storetest"
)

// ask sends a request to a receiver and gives the status and the body.
func ask(t *testing.T, r *Receiver, method, path, token, body string) (int, string) {
	t.Helper()
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	if path == "/token" {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		q.SetBasicAuth(r.creds.ID, r.creds.Secret)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	return w.Code, w.Body.String()
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
				if status, _ := ask(t, r, "POST", "/hooks/"+hook, token, `{"id":"`+id+`"}`); status == http.StatusAccepted {
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
			if status, body := ask(t, r, "POST", "/hooks/"+hook, token, `{"id":"`+id+`"}`); status != http.StatusAccepted {
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
		if status, _ := ask(t, r, "POST", "/hooks/steady", token, `{"id":"1","type":"<b>t"}`); status != step.want {
			t.Errorf("after %q: %d, want %d", step.press, status, step.want)
		}
	}
	if status, _ := ask(t, r, "POST", "/hooks/steady", "made up", `{"id":"1"}`); status != http.StatusUnauthorized {
		t.Errorf("a token that was not given out: %d", status)
	}
	status, page := ask(t, r, "GET", "/", "", "")
	if status != 200 || !strings.Contains(page, "Break the receiver") || strings.Contains(page, "<b>t") {
		t.Errorf("page %d: %s", status, page)
	}
}
