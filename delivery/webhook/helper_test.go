package webhook

import (
	"bytes"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"schakel/delivery/outbound"
)

// note is a small event of its own, so that these tests see bytes they know.
type note struct{}

func (note) AppendJSON(dst []byte) []byte {
	return append(dst, `{"specversion":"1.0","id":"1","source":"urn:x","type":"nl.x.note","data":{"a":1}}`...)
}

func (note) CanBinary() bool { return true }

func (note) BinaryHeader() http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "Ce-Specversion": {"1.0"}, "Ce-Id": {"1"}, "Ce-Source": {"urn:x"}, "Ce-Type": {"nl.x.note"},
	}
}

func (note) TraceContext() (parent, state string) { return "", "" }

// textOnly is a note that binary mode cannot carry.
type textOnly struct{ note }

func (textOnly) CanBinary() bool { return false }

const key = "8e03978e-40d5-43e8-bc93-6894a57f9324"

func message() Message {
	return Message{Event: note{}, Data: []byte(`{"a":1}`), IdempotencyKey: key, Attempt: 1}
}

// clock is a clock that tests move by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type fixture struct {
	*Sender
	clock *clock
	log   *logBuffer
}

func newSender(t testing.TB, signer Signer, servers ...*httptest.Server) fixture {
	t.Helper()
	roots := x509.NewCertPool()
	for _, server := range servers {
		roots.AddCert(server.Certificate())
	}
	client := outbound.New(outbound.Config{
		AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots,
	})
	c, log := newClock(), &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return fixture{NewSender(Config{Client: client, Signer: signer, Now: c.now, Logger: logger}), c, log}
}

func serve(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server
}
