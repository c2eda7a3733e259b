package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"schakel/delivery/event"
)

// TestPublishRaw writes requests by hand, as curl would, on one connection: all
// three modes, and one too large after which the connection still works (CE-32).
//
// Rules: CE-32.
func TestPublishRaw(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	server := httptest.NewServer(h.app.Handler())
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	noError(t, err)
	defer connection.Close()
	answers := bufio.NewReader(connection)
	for _, tc := range []struct {
		name, headers, body string
		status              int
	}{
		{"structured", "content-type: application/cloudevents+json", sampleEvent("raw-1"), 202},
		{"batch", "Content-Type: Application/CloudEvents-Batch+JSON; charset=UTF-8", "[" + sampleEvent("raw-2") + "]", 202},
		{"binary", "CONTENT-TYPE: application/json\r\nCE-SpecVersion: 1.0\r\nce-ID: \"raw-3\"\r\nCe-Type: nl.example.student.enrolled\r\n" +
			"ce-source: urn:nld:oin:1:x\r\nce-subject: Euro%20%E2%82%AC", `{"studentId":"1"}`, 202},
		{"too large", "Content-Type: application/cloudevents+json", sampleEvent("raw-4", `"pad":"`+strings.Repeat("p", 20*event.MinEventBytes)+`"`), 413},
		{"again", "Content-Type: application/cloudevents+json", sampleEvent("raw-5"), 202},
	} {
		_, err := fmt.Fprintf(connection, "POST /events/v1/events HTTP/1.1\r\nHost: schakel.example.nl\r\nAuthorization: Bearer %s\r\n"+
			"Idempotency-Key: %s\r\nContent-Length: %d\r\n%s\r\n\r\n%s", c.token, freshKey(), len(tc.body), tc.headers, tc.body)
		noError(t, err)
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != tc.status || answer.Close {
			t.Errorf("%s: %d, closes %v: %s", tc.name, answer.StatusCode, answer.Close, body)
		}
	}
	if n := h.eventCount(t); n != 4 {
		t.Errorf("%d events stored", n)
	}
}

// TestPublishBrokenBody: a body that ends before its time is not taken.
func TestPublishBrokenBody(t *testing.T) {
	t.Parallel()
	h := newAPIHarness(t, nil).withCatalogue(t)
	c := h.publisher(t, "")
	server := httptest.NewServer(h.app.Handler())
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	noError(t, err)
	defer connection.Close()
	body := sampleEvent("cut")
	_, err = fmt.Fprintf(connection, "POST /events/v1/events HTTP/1.1\r\nHost: schakel.example.nl\r\nAuthorization: Bearer %s\r\n"+
		"Idempotency-Key: %s\r\nContent-Length: %d\r\nContent-Type: application/cloudevents+json\r\n\r\n%s", c.token, freshKey(), len(body)+1, body)
	noError(t, err)
	noError(t, connection.(*net.TCPConn).CloseWrite())
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	noError(t, err)
	if answer.StatusCode != http.StatusBadRequest || h.eventCount(t) != 0 {
		t.Errorf("%d, %d events", answer.StatusCode, h.eventCount(t))
	}
}
