package webhook

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"schakel/delivery/outbound"
)

// A receiver that writes two answers for each request delivers nothing that it did not read, neither to its own endpoint nor to
// another one at the same host.
//
// Rules: EDU-09.
func TestSecondAnswerIsNoDelivery(t *testing.T) { // guarantee G1
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			t.Parallel()
			const requests = 5000
			got := make(map[string]bool)
			var mu sync.Mutex
			url, client := answersTwice(t, secure, func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				got[r.Header.Get("Idempotency-Key")] = true
			})
			sender := NewSender(Config{Client: client, Logger: slog.New(slog.DiscardHandler)})
			wrong, delivered := 0, 0
			for i := range requests {
				m := message()
				m.IdempotencyKey = fmt.Sprintf("key-%d", i)
				out := sender.Send(t.Context(), Target{EndpointID: fmt.Sprint("endpoint ", i%4), URL: url}, m)
				mu.Lock()
				if out.Status == http.StatusAccepted {
					delivered++
					if !got[`"`+m.IdempotencyKey+`"`] {
						wrong++
					}
				}
				mu.Unlock()
			}
			if wrong != 0 || delivered < requests-50 {
				t.Errorf("%d of %d were delivered, %d of them were received by nobody", delivered, requests, wrong)
			}
		})
	}
}

// answersTwice starts a receiver that reads one request of each connection and answers it twice.
func answersTwice(t *testing.T, secure bool, read func(*http.Request)) (string, *outbound.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme, cfg := "http", outbound.Config{AllowPlainHTTP: true}
	if secure {
		model := httptest.NewTLSServer(nil)
		t.Cleanup(model.Close)
		roots := x509.NewCertPool()
		roots.AddCert(model.Certificate())
		scheme, cfg = "https", outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots}
		listener = tls.NewListener(listener, &tls.Config{Certificates: model.TLS.Certificates})
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				read(r)
				const answer = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
				_, _ = io.WriteString(c, answer+answer)
				_, _ = c.Read(make([]byte, 1)) // it never reads the next request
			}()
		}
	}()
	return scheme + "://" + listener.Addr().String(), outbound.New(cfg)
}
