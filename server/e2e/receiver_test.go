package e2e

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"schakel/server/demo"
)

// receiver plays partners: a token endpoint, and a webhook at every other path.
// It keeps a ledger of what it was offered and of what it took.
type receiver struct {
	server *httptest.Server

	mu      sync.Mutex
	before  func(*http.Request)       // is called first; nil is nothing
	judge   func(path, id string) int // the status for an event; nil takes all
	offered map[string]map[string]int // path, id: how often
	taken   map[string]map[string]taken
}

// taken is an event as it arrived.
type taken struct {
	header http.Header
	body   []byte
	times  int
}

// Credentials the receiver gives tokens for, and the token.
const (
	receiverClient = "schakel"
	receiverSecret = "secret of the receiver"
	receiverToken  = "token-of-the-receiver"
)

func newReceiver(t testing.TB, p *pki) *receiver {
	t.Helper()
	r := &receiver{offered: map[string]map[string]int{}, taken: map[string]map[string]taken{}}
	r.server = httptest.NewUnstartedServer(r)
	r.server.TLS = &tls.Config{Certificates: []tls.Certificate{p.cert}}
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // that a killed process breaks off is no news
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	return r
}

// target is a webhook at path.
func (r *receiver) target(name, path string) demo.Target {
	return demo.Target{
		Name: name, URL: r.server.URL + path, TokenURL: r.server.URL + "/token",
		Credentials: demo.Credentials{ID: receiverClient, Secret: receiverSecret},
	}
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	before := r.before
	r.mu.Unlock()
	if before != nil {
		before(q)
	}
	if q.URL.Path == "/token" {
		r.token(w, q)
		return
	}
	body, err := io.ReadAll(q.Body)
	if err != nil || q.Header.Get("Authorization") != "Bearer "+receiverToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	id := q.Header.Get("Ce-Id")
	if id == "" {
		var e struct{ ID string }
		_ = json.Unmarshal(body, &e)
		id = e.ID
	}
	w.WriteHeader(r.take(q, id, body))
}

func (r *receiver) token(w http.ResponseWriter, q *http.Request) {
	id, secret, _ := q.BasicAuth()
	if id != receiverClient || secret != "secret+of+the+receiver" { // form-encoded, RFC 6749 2.3.1
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": receiverToken, "token_type": "Bearer", "expires_in": 3600})
}

func (r *receiver) take(q *http.Request, id string, body []byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := q.URL.Path
	if r.offered[path] == nil {
		r.offered[path], r.taken[path] = map[string]int{}, map[string]taken{}
	}
	r.offered[path][id]++
	if r.judge != nil {
		if status := r.judge(path, id); status != http.StatusAccepted {
			return status
		}
	}
	times := r.taken[path][id].times + 1
	r.taken[path][id] = taken{q.Header.Clone(), body, times}
	return http.StatusAccepted
}

// behave sets what the receiver answers; nil takes all.
func (r *receiver) behave(judge func(path, id string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judge = judge
}

// got gives an event that was taken at a path.
func (r *receiver) got(path, id string) (taken, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.taken[path][id]
	return t, ok
}

// offers tells how many different events were offered at a path.
func (r *receiver) offers(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.offered[path])
}

// waitFor waits until an event was taken at a path.
func (r *receiver) waitFor(t testing.TB, path, id string) taken {
	t.Helper()
	var got taken
	eventually(t, "event "+id+" arrives at "+path, func() (ok bool, _ string) {
		got, ok = r.got(path, id)
		return ok, ""
	})
	return got
}
