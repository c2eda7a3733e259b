package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func wireOf(text string) *wire {
	return &wire{read: bufio.NewReader(strings.NewReader(text))}
}

func TestWireReadsMessages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, first, body, token string }{
		"request":   {"POST /events HTTP/1.1\r\nauthorization: Bearer x\r\nContent-Length: 5\r\n\r\nhelloPOST", "POST /events HTTP/1.1", "hello", "Bearer x"},
		"no body":   {"HTTP/1.1 202 Accepted\r\n\r\n", "HTTP/1.1 202 Accepted", "", ""},
		"chunks":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "HTTP/1.1 200 OK", "hello!", ""},
		"bare ends": {"HTTP/1.1 200 OK\nContent-Length: 1\n\n1", "HTTP/1.1 200 OK", "1", ""},
	} {
		w := wireOf(test.text)
		if err := w.next(); err != nil || string(w.first) != test.first || string(w.body) != test.body || string(w.token) != test.token {
			t.Errorf("%s: %q, %q, %q, %v", name, w.first, w.body, w.token, err)
		}
	}
}

func TestWireRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no header":       "POST / HTTP/1.1\r\nhello\r\n\r\n",
		"negative length": "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"huge length":     "POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n",
		"short body":      "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhello",
		"bad chunk":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
		"after a chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n",
		"long line":       "POST /" + strings.Repeat("x", 20<<10) + " HTTP/1.1\r\n\r\n",
	} {
		if err := wireOf(text).next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzWire reads anything; what a server of Go's library would take must come out the same.
func FuzzWire(f *testing.F) {
	f.Add([]byte("POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nContent-Length: 5\r\n\r\nhello"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w := &wire{read: bufio.NewReader(bytes.NewReader(raw))}
		if w.next() != nil {
			return
		}
		request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			return
		}
		if body, err := io.ReadAll(request.Body); err == nil && !bytes.Equal(body, w.body) && request.ContentLength > 0 {
			t.Errorf("%q: body %q, want %q", raw, w.body, body)
		}
	})
}

func TestExchangeWithGoServer(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		in := bufio.NewReader(there)
		for range 2 {
			q, err := http.ReadRequest(in)
			if err != nil {
				t.Error(err)
				return
			}
			body, _ := io.ReadAll(q.Body)
			answer := http.Response{StatusCode: http.StatusTeapot, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1, TransferEncoding: []string{"chunked"}}
			_ = answer.Write(there)
		}
	}()
	w := newWire(here)
	for range 2 {
		status, err := w.exchange([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"))
		if err != nil || status != http.StatusTeapot || string(w.body) != "abc" {
			t.Errorf("%d %q %v", status, w.body, err)
		}
	}
}
