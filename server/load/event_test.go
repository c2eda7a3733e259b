package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/event"
)

// sentEvent holds the members of an event that a test reads.
type sentEvent struct{ ID, Subject string }

func TestRequestIsWhatIntakeTakes(t *testing.T) {
	t.Parallel()
	naming := newNaming()
	for _, count := range []int{1, 3} {
		r := naming.newRequest(2, count, "localhost:1", "/events/v1/events", "secret")
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
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		t.Fatal(err)
	}
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
