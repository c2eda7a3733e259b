package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"schakel/delivery/amqp/certs/certtest"
)

// Requests show the client certificate that they are given, over HTTP/1.1 and HTTP/2, and never share a connection with those of another one or
// of none: each answer is to who the receiver knows.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	pki := certtest.New(t, time.Now())
	pool := x509.NewCertPool()
	pool.AddCert(pki.Root)
	certificate := func(oin string) *Certificate {
		pair := pki.Issue(oin)
		return &Certificate{ID: oin, TLS: &pair.TLS}
	}
	who := map[string]*Certificate{"": nil, "00000001123456789000": certificate("00000001123456789000"), "00000001001234567000": certificate("00000001001234567000")}
	for name, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			connections := map[string]string{} // by remote address: whose it is
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				shown := ""
				if len(r.TLS.PeerCertificates) > 0 {
					shown = r.TLS.PeerCertificates[0].Subject.SerialNumber
				}
				mu.Lock()
				defer mu.Unlock()
				if other, known := connections[r.RemoteAddr]; known && other != shown {
					t.Errorf("%q and %q share a connection", other, shown)
				}
				connections[r.RemoteAddr] = shown
				_, _ = w.Write([]byte(shown))
			}))
			srv.EnableHTTP2 = two
			// The authorities that are named are not those of the certificates: they are shown all the same, for the receiver to judge.
			srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, ClientCAs: x509.NewCertPool()}
			srv.TLS.ClientCAs.AddCert(pki.Issue("other").Cert)
			srv.StartTLS()
			t.Cleanup(srv.Close)
			client := trusting(srv, Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
			t.Cleanup(client.CloseIdleConnections)
			var all sync.WaitGroup
			for oin, cert := range who {
				all.Go(func() {
					for range 20 {
						req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, http.NoBody)
						if err != nil {
							t.Error(err)
							return
						}
						resp, err := client.DoFor(WithCertificate(t.Context(), cert), "ept_1", req)
						if err != nil || string(resp.Body) != oin {
							t.Errorf("shown %q: %+v, %v", oin, resp, err)
							return
						}
					}
				})
			}
			all.Wait()
			client.Forget("ept_1")
			if n := len(client.pool.Load().owners); n != 0 {
				t.Errorf("%d owners are left", n)
			}
		})
	}
	if certificateOf(context.Background()) != nil {
		t.Error("a request without one has a certificate")
	}
}
