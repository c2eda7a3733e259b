package trial

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"schakel/server/demo"
)

// Receiver plays partners: a token endpoint, and a webhook at every other path. It keeps a ledger of what it was offered and of
// what it took, and notes what breaks a rule: another Idempotency-Key at a second offer of an event, and, where order is wanted, a
// number offered after a higher one of its subject.
type Receiver struct {
	server *httptest.Server
	conns  atomic.Int64

	mu     sync.Mutex
	before func(*http.Request)       // is called first; nil is nothing
	reply  map[string]Reply          // by path
	judge  func(path, id string) int // the status for an event; nil takes all
	paths  map[string]*webhook
	order  map[string]bool // paths at which events come in order
	faults bool            // what is offered again is not judged by its order
	broken []string        // rules, with the event
}

type webhook struct {
	events map[string]*seen
	latest map[string]int // the highest number offered, by subject
	offers int
}

type seen struct {
	Taken
	key   string
	times int // offered
}

// Taken is an event as it arrived first.
type Taken struct {
	Body  []byte
	Times int
}

// What a receiver may do apart from answering with a status.
const (
	Hang       = -1 - iota // keeps the event and never answers
	Drip                   // takes the event and answers with a body that never ends, a byte a second
	LoseAnswer             // takes the event and closes the connection without an answer
)

// Credentials the receiver gives tokens for, and the token.
const (
	receiverClient = "schakel"
	receiverSecret = "secret of the receiver"
	ReceiverToken  = "token-of-the-receiver"
)

// NewReceiver starts a receiver over TLS that takes everything.
func NewReceiver(t T, p *PKI) *Receiver {
	t.Helper()
	r := &Receiver{reply: map[string]Reply{}, paths: map[string]*webhook{}, order: map[string]bool{}}
	r.server = httptest.NewUnstartedServer(r)
	r.server.TLS = &tls.Config{Certificates: []tls.Certificate{p.Cert}}
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // that a killed process breaks off is no news
	r.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			r.conns.Add(1)
		case http.StateClosed, http.StateHijacked:
			r.conns.Add(-1)
		}
	}
	r.server.StartTLS()
	t.Cleanup(func() {
		r.server.CloseClientConnections() // so that what hangs ends
		r.server.Close()
	})
	return r
}

// Target is a webhook at path.
func (r *Receiver) Target(name, path string) demo.Target {
	return demo.Target{
		Name: name, URL: r.server.URL + path, TokenURL: r.server.URL + "/token",
		Credentials: demo.Credentials{ID: receiverClient, Secret: receiverSecret},
	}
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
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
	if err != nil || q.Header.Get("Authorization") != "Bearer "+ReceiverToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	status := r.take(q, body)
	if answer := r.replyTo(q.URL.Path, body); answer != nil && status == http.StatusAccepted {
		_, _ = w.Write(answer) // who asked may have gone
		return
	}
	answerAs(w, q, status)
}

func (r *Receiver) token(w http.ResponseWriter, q *http.Request) {
	id, secret, _ := q.BasicAuth()
	if id != receiverClient || secret != "secret+of+the+receiver" { // form-encoded, RFC 6749 2.3.1
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": ReceiverToken, "token_type": "Bearer", "expires_in": 3600})
}

// arrived holds the part of an event that the ledger needs.
type arrived struct {
	ID, Subject string
	Data        struct{ Seq int }
}

func (r *Receiver) take(q *http.Request, body []byte) int {
	var e arrived
	_ = json.Unmarshal(body, &e) // in binary mode the body is the data
	if id := q.Header.Get("Ce-Id"); id != "" {
		e = arrived{ID: id}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	path := q.URL.Path
	s := r.offered(r.at(path), path, e, q.Header.Get("Idempotency-Key"))
	status := http.StatusAccepted
	if r.judge != nil {
		status = r.judge(path, e.ID)
	}
	if status == http.StatusAccepted || status == Drip || status == LoseAnswer {
		s.Times++
		if s.Body == nil {
			s.Body = body
		}
	}
	return status
}

// at gives what was seen at a path. The caller holds the mutex.
func (r *Receiver) at(path string) *webhook {
	if r.paths[path] == nil {
		r.paths[path] = &webhook{events: map[string]*seen{}, latest: map[string]int{}}
	}
	return r.paths[path]
}

// offered notes an offer. The caller holds the mutex.
func (r *Receiver) offered(hook *webhook, path string, e arrived, key string) *seen {
	hook.offers++
	s := hook.events[e.ID]
	if s == nil {
		s = &seen{key: key}
		hook.events[e.ID] = s
	}
	s.times++
	if s.key != key {
		r.broken = append(r.broken, fmt.Sprintf("%s: event %s came with key %s and then with %s", path, e.ID, s.key, key))
	}
	if !r.order[path] || e.Subject == "" || e.Data.Seq == 0 || r.faults && s.times > 1 {
		return s
	}
	if last := hook.latest[e.Subject]; e.Data.Seq < last {
		r.broken = append(r.broken, fmt.Sprintf("%s: number %d of %s came after number %d", path, e.Data.Seq, e.Subject, last))
	}
	hook.latest[e.Subject] = max(hook.latest[e.Subject], e.Data.Seq)
	return s
}

func answerAs(w http.ResponseWriter, q *http.Request, status int) {
	switch status {
	case Hang:
		<-q.Context().Done()
		panic(http.ErrAbortHandler)
	case LoseAnswer:
		panic(http.ErrAbortHandler)
	case Drip:
		drip(w, q)
	default:
		w.WriteHeader(status)
	}
}

// drip answers until the other side has had enough.
func drip(w http.ResponseWriter, q *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	flush := http.NewResponseController(w)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte(".")); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-q.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// Behave sets what the receiver does with an event: the status it answers, or Hang, Drip or LoseAnswer. Nil takes all with 202.
func (r *Receiver) Behave(judge func(path, id string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judge = judge
}

// WantOrder has the numbers of a subject come in order at a path (guarantee G5).
func (r *Receiver) WantOrder(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order[path] = true
}

// RepeatsAfterFaults says that outcomes may be lost here, with the program or its database. Deliveries of a key that were
// sent in one run are sent once more then, in order, from the first whose outcome was not written. What is new must still
// come in order.
func (r *Receiver) RepeatsAfterFaults() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = true
}

// Before sets what is called first at each request; nil is nothing.
func (r *Receiver) Before(do func(*http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = do
}

// Reply makes the body of the answer to a request.
type Reply func(body []byte) []byte

// Reply sets what is answered with 200 to what is taken at a path.
func (r *Receiver) Reply(path string, reply Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply[path] = reply
}

func (r *Receiver) replyTo(path string, body []byte) []byte {
	r.mu.Lock()
	reply := r.reply[path]
	r.mu.Unlock()
	if reply == nil {
		return nil
	}
	return reply(body)
}

// Got gives an event that was taken at a path.
func (r *Receiver) Got(path, id string) (Taken, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.at(path).events[id]; s != nil {
		return s.Taken, s.Times > 0
	}
	return Taken{}, false
}

// Bodies are the events that were taken at a path, as they arrived, in no order.
func (r *Receiver) Bodies(path string) (bodies []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.at(path).events {
		if s.Times > 0 {
			bodies = append(bodies, string(s.Body))
		}
	}
	return bodies
}

// Offers returns how many different events were offered at a path.
func (r *Receiver) Offers(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.at(path).events)
}

// Attempts returns how often anything was offered at a path.
func (r *Receiver) Attempts(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at(path).offers
}

// TakenAt returns how many different events were taken at a path.
func (r *Receiver) TakenAt(path string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.at(path).events {
		if s.Times > 0 {
			n++
		}
	}
	return n
}

// Broken lists the rules that were broken, with the event.
func (r *Receiver) Broken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.broken)
}

// Quiet waits until nobody is connected, so that what a killed process sent is not taken for something that came later.
func (r *Receiver) Quiet(t T) {
	t.Helper()
	Eventually(t, "the connections of the receiver are closed", func() (bool, string) {
		n := r.conns.Load()
		return n == 0, strconv.FormatInt(n, 10) + " are open"
	})
}

// WaitFor waits until an event was taken at a path.
func (r *Receiver) WaitFor(t T, path, id string) Taken {
	t.Helper()
	var got Taken
	Eventually(t, "event "+id+" arrives at "+path, func() (ok bool, _ string) {
		got, ok = r.Got(path, id)
		return ok, ""
	})
	return got
}
