package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"schakel/server/demo"
)

// target locates where a feed publishes.
type target struct {
	addr string // host and port
	tls  *tls.Config
}

func (t target) dial(ctx context.Context) (*wire, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	if t.tls != nil {
		conn = tls.Client(conn, t.tls)
	}
	return newWire(conn), nil
}

// feed publishes events over several connections, each waiting for its answer before it sends the next.
type feed struct {
	targets     []target // connections are spread over them
	connections int
	batch       int           // events in a request
	every       time.Duration // between the starts of requests, over all connections; 0 is no pause
	most        int           // events to publish; 0 is until the context ends
	anyOf2xx    bool          // whether any success is as good as 202
	request     func(t target) *request
	ledger      *ledger

	sent    atomic.Int64
	refused atomic.Int64 // answers 409, 429 and 503, after which the request is repeated
	broken  atomic.Int64 // connections that ended in the middle of a request
}

// wait between the repeats of a request.
const repeatWait = 10 * time.Millisecond

// run publishes until the context ends, all is published, or an answer says that it makes no sense. It gives the
// durations of the answers.
func (f *feed) run(ctx context.Context) (*histogram, error) {
	var all sync.WaitGroup
	answers := make([]histogram, f.connections)
	failed := make([]error, f.connections)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	for i := range f.connections {
		all.Go(func() {
			if failed[i] = f.publish(ctx, f.targets[i%len(f.targets)], began, &answers[i]); failed[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	var err error
	for i := range answers {
		if i > 0 {
			answers[0].merge(&answers[i])
		}
		if err == nil {
			err = failed[i]
		}
	}
	return &answers[0], err
}

// publish is the life of one connection.
func (f *feed) publish(ctx context.Context, to target, began time.Time, answers *histogram) error {
	request := f.request(to)
	var w *wire
	defer func() {
		if w != nil {
			_ = w.conn.Close()
		}
	}()
	for f.turn(ctx, began) {
		first, ok := f.ledger.take(f.batch)
		if !ok {
			return nil
		}
		request.fill(first, f.ledger.route)
		var err error
		if w, err = f.offer(ctx, w, to, request, answers); err != nil {
			return err
		}
		f.ledger.accept(first, f.batch)
	}
	return nil
}

// turn waits for the moment of the next request; false is that there is none.
func (f *feed) turn(ctx context.Context, began time.Time) bool {
	n := f.sent.Add(1) - 1
	if f.most > 0 && int(n)*f.batch >= f.most {
		return false
	}
	if f.every > 0 {
		rest(ctx, time.Until(began.Add(time.Duration(n)*f.every)))
	}
	return ctx.Err() == nil
}

// offer sends a request until it is accepted. What was begun is finished after the end of the context too: the event
// may already be on disk.
func (f *feed) offer(ctx context.Context, w *wire, to target, r *request, answers *histogram) (*wire, error) {
	for tries := 0; ; tries++ {
		if tries > 1000 {
			return w, fmt.Errorf("publish at %s: no answer 202 after %d tries", to.addr, tries)
		}
		if w == nil {
			fresh, err := to.dial(context.WithoutCancel(ctx))
			if err != nil {
				return w, fmt.Errorf("connect: %w", err)
			}
			w = fresh
		}
		began := time.Now()
		status, err := w.exchange(r.bytes)
		switch {
		case err != nil:
			f.broken.Add(1)
			_ = w.conn.Close()
			w = nil
		case status == http.StatusAccepted, f.anyOf2xx && status/100 == 2:
			answers.add(time.Since(began))
			return w, nil
		case status == http.StatusConflict, status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
			f.refused.Add(1)
		default:
			return w, fmt.Errorf("publish at %s: answer %d: %s", to.addr, status, w.body[:min(len(w.body), 1000)])
		}
		rest(context.WithoutCancel(ctx), repeatWait)
	}
}

// rest pauses until the time or the context is over.
func rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// eventBytes is the length of an event in its JSON format.
const eventBytes = 700

// Digits of what changes in a request.
const (
	placeDigits    = 12
	endpointDigits = 4
)

// naming makes the ids of a run: a prefix of the run, the number of a ledger, and a place in it.
type naming struct{ run string }

func newNaming() naming {
	raw := make([]byte, 4)
	_, _ = rand.Read(raw) // never fails
	return naming{"load-" + hex.EncodeToString(raw) + "-"}
}

// subject returns the subject that the filter of an endpoint's subscription selects.
func subject(endpoint int) string { return fmt.Sprintf("school-%0*d", endpointDigits, endpoint) }

// template is an event with zeroes where the id and the endpoint go, and where they are in it.
type template struct {
	json        []byte
	id, subject int // where the digits begin
}

// newTemplate makes an event of a ledger (0 to 9), padded to its length by a longer address in its data.
func (n naming) newTemplate(ledger int) template {
	text := func(padding int) string {
		return fmt.Sprintf(`{"specversion":"1.0","id":"%s%d-%0*d","source":%q,"type":%q,"subject":%q,"time":"2026-09-01T09:00:00Z",`+
			`"datacontenttype":"application/json","data":{"id":"5c1b2a90-55c0-4f0e-b1a5-6d8c2b7e9f03","notificationType":"CREATE",`+
			`"objectType":"inschrijving","objectId":"2e4d6f80-91a2-43b4-a5c6-d7e8f9012345","school":{"id":"3a5c7e90-12b4-4d6f-8091-a2b3c4d5e6f7",`+
			`"name":"Voorbeeld College"},"created":"2026-09-01T09:00:00Z","isDeleteNotification":false,"url":"https://api.voorbeeld.example/?q=%s"}}`,
			n.run, ledger, placeDigits, 0, demo.OwnA().Source(), demo.TypeEnrolled, subject(0), strings.Repeat("x", padding))
	}
	json := text(eventBytes - len(text(0)))
	return template{
		json: []byte(json), id: strings.Index(json, n.run) + len(n.run) + 2,
		subject: strings.Index(json, subject(0)) + len(subject(0)) - endpointDigits,
	}
}

// request is a whole HTTP request that publishes, in which the ids and the key can be changed in place.
type request struct {
	bytes  []byte
	key    int // where the last digits of the key begin
	events []template
}

// keyDigits are the digits of an idempotency key that count; the others make it a UUID of version 4.
const keyDigits = 12

// newRequest makes a request for n events of a ledger; a batch when n is more than one. headers are of the
// form "Name: value"; one of them may be another Content-Type.
func (n naming) newRequest(ledger, count int, host, path string, headers ...string) *request {
	event := n.newTemplate(ledger)
	kind, open, close := "application/cloudevents+json", "", ""
	if count > 1 {
		kind, open, close = "application/cloudevents-batch+json", "[", "]"
	}
	length := count*len(event.json) + count - 1 + len(open) + len(close)
	key := fmt.Sprintf("%s-%04d-4000-8000-", strings.Split(n.run, "-")[1], ledger)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\n", path, host)
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(strings.ToLower(h), "content-type:") }) {
		head += "Content-Type: " + kind + "\r\n"
	}
	for _, h := range headers {
		head += h + "\r\n"
	}
	head += fmt.Sprintf("Content-Length: %d\r\nIdempotency-Key: \"%s", length, key)
	r := &request{bytes: []byte(head), key: len(head)}
	r.bytes = fmt.Appendf(r.bytes, "%0*d\"\r\n\r\n%s", keyDigits, 0, open)
	for i := range count {
		if i > 0 {
			r.bytes = append(r.bytes, ',')
		}
		at := len(r.bytes)
		r.events = append(r.events, template{id: at + event.id, subject: at + event.subject})
		r.bytes = append(r.bytes, event.json...)
	}
	r.bytes = append(r.bytes, close...)
	return r
}

// fill puts in the events from a place on, each for the endpoint that route names, under a key of their own.
func (r *request) fill(first int, route func(place int) int) {
	digits(r.bytes[r.key:r.key+keyDigits], first)
	for i, e := range r.events {
		digits(r.bytes[e.id:e.id+placeDigits], first+i)
		digits(r.bytes[e.subject:e.subject+endpointDigits], route(first+i))
	}
}

// digits writes a number with leading zeroes.
func digits(to []byte, n int) {
	for i := len(to) - 1; i >= 0; i-- {
		to[i] = byte('0' + n%10)
		n /= 10
	}
}

// number reads what digits wrote; false is that it is something else.
func number(from []byte) (n int, ok bool) {
	for _, c := range from {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(from) > 0
}
