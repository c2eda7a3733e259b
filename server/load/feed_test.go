package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/server/trial"
)

// TestFeedAndReceiver has a feed post to endpoints without anything between.
func TestFeedAndReceiver(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]int{"single": 1, "batch": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			naming := newNaming()
			r, err := startReceiver(naming, 1, anyPort, true, nil)
			trial.Must(t, err)
			t.Cleanup(r.close)
			l := newLedger(100, func(int) int { return 0 })
			r.ledgers[0].Store(l)
			f := feedTo(naming, r.hosts[0], receiverToken, l, batch)
			answers, err := f.run(t.Context())
			v := l.judge(nil)
			if err != nil || v.accepted != 50 || v.delivered != 50 || v.repeats+v.misdirected != 0 || answers.total != uint64(50/batch) {
				t.Errorf("%+v, %d answers, %v", v, answers.total, err)
			}
		})
	}
}

func feedTo(n naming, host, token string, l *ledger, batch int) *feed {
	return &feed{
		targets: []target{{addr: host}}, connections: 3, batch: batch, most: 50, ledger: l,
		request: func(to target) *request {
			return n.newRequest(0, batch, to.addr, "/events", "Authorization: Bearer "+token)
		},
	}
}

func TestReceiverNotesWhatIsNotForIt(t *testing.T) {
	t.Parallel()
	naming := newNaming()
	r, err := startReceiver(naming, 2, anyPort, true, nil)
	trial.Must(t, err)
	t.Cleanup(r.close)
	l := newLedger(100, func(place int) int { return place % 2 })
	r.ledgers[0].Store(l)
	if _, err := feedTo(naming, r.hosts[0], receiverToken, l, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := l.judge(nil); v.delivered != 25 || v.misdirected != 25 {
		t.Errorf("%+v", v)
	}
	if _, err := feedTo(naming, r.hosts[0], "another token", l, 1).run(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a wrong token: %v", err)
	}
	if n := r.refused.Load(); n == 0 {
		t.Error("no request was refused")
	}
}

// TestFeedRepeats has a server that breaks off, or answers 503, before it answers 202.
func TestFeedRepeats(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	trial.Must(t, err)
	var count atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch count.Add(1) % 3 {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	l := newLedger(100, func(int) int { return 0 })
	f := feedTo(newNaming(), listener.Addr().String(), "x", l, 1)
	if _, err := f.run(context.Background()); err != nil || l.acceptances.Load() != 50 {
		t.Errorf("%d accepted: %v", l.acceptances.Load(), err)
	}
	if f.refused.Load() == 0 || f.broken.Load() == 0 {
		t.Errorf("%d refused, %d broken", f.refused.Load(), f.broken.Load())
	}
}

// sentEvent holds the members of an event that a test reads.
type sentEvent struct{ ID, Subject string }

func TestRequestIsWhatIntakeTakes(t *testing.T) {
	t.Parallel()
	naming := newNaming()
	for _, count := range []int{1, 3} {
		r := naming.newRequest(2, count, "localhost:1", "/events/v1/events", "Authorization: Bearer secret")
		keys := map[string]bool{}
		for _, first := range []int{0, 41, 999_999_999_997} {
			r.fill(first, func(place int) int { return place % 100 })
			header, body := readRequest(t, r.bytes)
			key := header.Get("Idempotency-Key")
			if id, err := uuid.Parse(key[1 : len(key)-1]); err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 || keys[key] {
				t.Errorf("key %s: %v", key, err)
			}
			keys[key] = true
			checkEvents(t, naming, body, count, first)
		}
	}
}

func readRequest(t *testing.T, raw []byte) (http.Header, []byte) {
	t.Helper()
	q, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	trial.Must(t, err)
	body, err := io.ReadAll(q.Body)
	trial.Must(t, err)
	return q.Header, body
}

func checkEvents(t *testing.T, naming naming, body []byte, count, first int) {
	t.Helper()
	if count == 1 {
		if len(body) != eventBytes {
			t.Errorf("an event of %d bytes, want %d", len(body), eventBytes)
		}
		body = fmt.Appendf(nil, "[%s]", body)
	}
	if _, err := event.ParseBatch(body, event.Limits{}); err != nil {
		t.Errorf("not valid: %v", err)
	}
	var events []sentEvent
	if err := json.Unmarshal(body, &events); err != nil || len(events) != count {
		t.Fatalf("%d events, want %d: %v", len(events), count, err)
	}
	for i, e := range events {
		id := fmt.Sprintf("%s2-%012d", naming.run, first+i)
		if e.ID != id || e.Subject != subject((first+i)%100) {
			t.Errorf("event %+v, want id %s", e, id)
		}
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	text := make([]byte, 4)
	for _, n := range []int{0, 7, 9999} {
		digits(text, n)
		if got, ok := number(text); got != n || !ok {
			t.Errorf("%q is %d, want %d", text, got, n)
		}
	}
	for _, text := range []string{"", "12a", "-1"} {
		if _, ok := number([]byte(text)); ok {
			t.Errorf("%q is a number", text)
		}
	}
}
