package demo

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/delivery/event"
)

// Hooks of the receiver that fail by themselves. Every other name works.
const (
	HookMoody  = "moody"  // answers 500 to half of the events, some of them for a minute
	HookStrict = "strict" // answers 400 to one in eight events, for a minute
)

// sulk sets how long an event that met bad luck is refused; a resend after that works.
const sulk = time.Minute

// Receiver plays the systems of partners: a token endpoint and webhooks, some of
// which fail at times. A page at its root breaks and mends all of it.
type Receiver struct {
	base  string
	now   func() time.Time
	creds Credentials

	mu     sync.Mutex
	broken bool
	tokens map[string]time.Time // until when they work
	seen   map[string]time.Time // when an event was first offered, by hook and id
	tries  map[string]int       // how often since then
	recent []Received           // newest last
}

// Received is one request to a webhook.
type Received struct {
	At             time.Time
	Hook, Type, ID string
	Status         int
}

// NewReceiver makes a receiver that is reached at base, such as http://127.0.0.1:8082.
func NewReceiver(base string, now func() time.Time) *Receiver {
	return &Receiver{
		base: base, now: now, creds: Credentials{"schakel-demo", rand.Text()},
		tokens: map[string]time.Time{}, seen: map[string]time.Time{}, tries: map[string]int{},
	}
}

// Target is a webhook of the receiver.
func (r *Receiver) Target(name, hook string) Target {
	return Target{Name: name, URL: r.base + "/hooks/" + hook, TokenURL: r.base + "/token", Credentials: r.creds}
}

// Handler serves the token endpoint, the webhooks and the page.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", r.token)
	mux.HandleFunc("POST /hooks/{hook}", r.hook)
	mux.HandleFunc("POST /hooks/"+HookAnswers, r.question)
	mux.HandleFunc("GET /{$}", r.page)
	mux.HandleFunc("GET /style.css", showStyle)
	// A page elsewhere must not break the receiver behind its visitor's back.
	same := http.NewCrossOriginProtection()
	mux.Handle("POST /break", same.Handler(r.turn(true)))
	mux.Handle("POST /mend", same.Handler(r.turn(false)))
	return mux
}

// token answers the client credentials grant.
func (r *Receiver) token(w http.ResponseWriter, q *http.Request) {
	id, secret, ok := q.BasicAuth()
	if !ok || id != r.creds.ID || secret != r.creds.Secret || q.FormValue("grant_type") != "client_credentials" {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	token := rand.Text()
	r.mu.Lock()
	r.tokens[token] = r.now().Add(10 * time.Minute)
	r.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 600})
}

// hook takes an event in, or fails. What is no event by the profile it refuses, as receivers should.
func (r *Receiver) hook(w http.ResponseWriter, q *http.Request) {
	var mode event.Mode
	var events []event.Event
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 2<<20))
	if err == nil {
		mode, events, err = event.Read(q.Header, body, event.Limits{})
	}
	id, kind := "", ""
	if len(events) > 0 {
		id, kind = events[0].ID, events[0].Type
	}
	if mode == event.Batch && len(events) > 0 {
		kind = fmt.Sprintf("batch of %d: %s", len(events), kind)
	}
	status := r.judge(q.PathValue("hook"), id, q.Header.Get("Authorization"))
	detail := excuses()[status]
	if err != nil && status != http.StatusUnauthorized {
		status, detail = refusal(err), err.Error()
	}
	r.note(Received{r.now(), q.PathValue("hook"), kind, id, status})
	if status == http.StatusAccepted {
		w.WriteHeader(status)
		return
	}
	answer(w, status, map[string]any{"status": status, "title": http.StatusText(status), "detail": detail})
}

// refusal is the status for a request that holds no event.
func refusal(err error) int {
	var tooMany *http.MaxBytesError
	switch {
	case errors.Is(err, event.ErrUnsupportedFormat):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, event.ErrTooLarge), errors.As(err, &tooMany):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func excuses() map[int]string {
	return map[int]string{
		http.StatusUnauthorized:        "The token is missing or has expired.",
		http.StatusBadRequest:          "The school of this notification is not known here yet.",
		http.StatusInternalServerError: "The database of the receiver does not answer.",
		http.StatusServiceUnavailable:  "The receiver was broken by hand; mend it on its page.",
	}
}

// judge decides what becomes of an event. The id decides whether it has bad
// luck, so that the same event gets the same answer until its time is over.
func (r *Receiver) judge(hook, id, authorization string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	token := ""
	_, _ = fmt.Sscanf(authorization, "Bearer %s", &token)
	if !now.Before(r.tokens[token]) {
		return http.StatusUnauthorized
	}
	if r.broken {
		return http.StatusServiceUnavailable
	}
	key := hook + " " + id
	if _, known := r.seen[key]; !known {
		r.forget(now)
		r.seen[key] = now
	}
	r.tries[key]++
	young := now.Sub(r.seen[key]) < sulk
	switch luck := luckOf(id); {
	case hook == HookMoody && luck%4 == 0 && young: // dead after its retries
		return http.StatusInternalServerError
	case hook == HookMoody && luck%4 == 1 && r.tries[key] == 1: // works at the second try
		return http.StatusInternalServerError
	case hook == HookStrict && luck%8 == 2 && young:
		return http.StatusBadRequest
	}
	return http.StatusAccepted
}

// forget drops what is long over, so that a demo can run for days.
func (r *Receiver) forget(now time.Time) {
	if len(r.seen) < 5000 {
		return
	}
	for key, at := range r.seen {
		if now.Sub(at) > time.Hour {
			delete(r.seen, key)
			delete(r.tries, key)
		}
	}
	for token, until := range r.tokens {
		if now.After(until) {
			delete(r.tokens, token)
		}
	}
}

func (r *Receiver) note(got Received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recent = append(r.recent, got)
	if over := len(r.recent) - 50; over > 0 {
		r.recent = append([]Received(nil), r.recent[over:]...)
	}
}

func luckOf(id string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32() >> 8
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// turn breaks or mends the receiver.
func (r *Receiver) turn(broken bool) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.broken = broken
		r.mu.Unlock()
		http.Redirect(w, q, "/", http.StatusSeeOther)
	}
}

// page shows what came in, how an endpoint of one's own is made, and the button
// that breaks or mends.
func (r *Receiver) page(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	broken, target, recent := r.broken, r.Target("", "mine"), slices.Clone(r.recent)
	r.mu.Unlock()
	slices.Reverse(recent)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'")
	form := receiverWorks
	if broken {
		form = receiverBroken
	}
	var rows strings.Builder
	for _, e := range recent {
		fmt.Fprintf(&rows, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%d</td></tr>\n", e.At.Format(time.TimeOnly),
			html.EscapeString(e.Hook), html.EscapeString(e.Type), html.EscapeString(e.ID), e.Status)
	}
	if len(recent) == 0 {
		rows.WriteString("<tr><td colspan=\"5\">Nothing yet.</td></tr>\n")
	}
	_, _ = fmt.Fprintf(w, receiverPage, form, html.EscapeString(target.URL), html.EscapeString(target.TokenURL),
		html.EscapeString(target.ID), html.EscapeString(target.Secret), len(recent), rows.String())
}

func showStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = io.WriteString(w, receiverStyle)
}

const receiverStyle = `body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
code, td { overflow-wrap: anywhere; }
button { font: inherit; padding: 0.5rem 1rem; }
caption, th, td { text-align: start; vertical-align: top; }
th, td { padding: 0.25rem 0.75rem 0.25rem 0; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr, td { display: block; }
  tr { border-top: 1px solid; padding: 0.5rem 0; }
}
`

// The form of the page that breaks or mends the receiver.
const (
	receiverWorks = `<p>It works. The hook “moody” answers 500 to half of the events, “strict” refuses one in eight; after a minute both take what they refused.</p>
<form method="post" action="/break"><button>Break the receiver</button></form>
`
	receiverBroken = `<p><strong>It is broken: every event is answered 503.</strong></p>
<form method="post" action="/mend"><button>Mend the receiver</button></form>
`
)

// receiverPage takes the form, the four values of an endpoint, and the number and rows of the requests.
const receiverPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Receiver of the demonstration</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>Receiver of the demonstration</h1>
<p>This plays the systems of partners. It takes events in at <code>/hooks/…</code> and gives out tokens at <code>/token</code>.</p>
%s<h2>An endpoint of your own</h2>
<dl>
<dt>URL</dt><dd><code>%s</code></dd>
<dt>Token endpoint</dt><dd><code>%s</code></dd>
<dt>Client id</dt><dd><code>%s</code></dd>
<dt>Client secret</dt><dd><code>%s</code></dd>
</dl>
<h2>What came in last</h2>
<table>
<caption>The last %d requests, newest first</caption>
<thead><tr><th scope="col">Time</th><th scope="col">Hook</th><th scope="col">Event type</th><th scope="col">Event id</th><th scope="col">Answer</th></tr></thead>
<tbody>
%s</tbody>
</table>
</main>
</body>
</html>
`
