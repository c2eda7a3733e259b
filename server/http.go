package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"schakel/registry"
)

// Limits of the HTTP servers against slow and greedy clients (SEC-27). Routes
// that wait or carry large bodies lengthen the read and write times themselves.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 90 * time.Second
	maxHeaderBytes    = 32 << 10
)

// httpService serves HTTP at one address.
type httpService struct {
	name   string
	addr   string
	server *http.Server
	tls    *tls.Config // nil: plain HTTP
	failed func(error) // called when serving ends by itself
	listen net.Listener
	cancel context.CancelFunc
}

// newHTTPService makes the service; handler gets requests from Start on. failed
// is called when the server ends without having been stopped.
func newHTTPService(name, addr string, handler http.Handler, cfg *tls.Config, log *slog.Logger, failed func(error)) *httpService {
	base, cancel := context.WithCancel(context.Background())
	s := &httpService{name: name, addr: addr, tls: cfg, failed: failed, cancel: cancel}
	s.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	return s
}

// Name implements Service.
func (s *httpService) Name() string { return s.name }

// Addr is the address it listens on; the port is known after Start.
func (s *httpService) Addr() string {
	if s.listen == nil {
		return s.addr
	}
	return s.listen.Addr().String()
}

// Start listens and serves in the background.
func (s *httpService) Start(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.addr, err)
	}
	s.listen = l
	if s.tls != nil {
		s.server.TLSConfig = s.tls
	}
	go s.serve(l)
	return nil
}

func (s *httpService) serve(l net.Listener) {
	var err error
	if s.tls != nil {
		err = s.server.ServeTLS(l, "", "")
	} else {
		err = s.server.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		s.failed(fmt.Errorf("serve %s: %w", s.name, err))
	}
}

// Stop takes no new connection and waits for the requests in flight. Requests that are still busy when a third of the time is
// left see their context end. A quarter of the time is for the parts that stop next: connections that are open even then are
// broken, as those of a large body that comes or goes slowly; such a one goes on at the next start, or at another node.
func (s *httpService) Stop(ctx context.Context) error {
	defer s.cancel()
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		t := time.AfterFunc(left*2/3, s.cancel)
		defer t.Stop()
		b := time.AfterFunc(left*3/4, func() { _ = s.server.Close() })
		defer b.Stop()
	}
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close()
		return fmt.Errorf("drain requests: %w", err)
	}
	return nil
}

// cipherSuites lists the TLS 1.2 suites NCSC rates good or sufficient (SEC-21).
// Go's own list still offers two CBC suites; those of TLS 1.3 are fixed and fine.
func cipherSuites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	}
}

// serverTLS is the configuration of our own servers (SEC-20..24): TLS 1.2 and
// up, AEAD suites only, Go's default curves (which include the hybrids).
func serverTLS(certs *certificateFile) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		CipherSuites:   cipherSuites(),
		GetCertificate: certs.get,
		NextProtos:     []string{"h2", "http/1.1"},
	}
}

// certificateFile is a certificate and key on disk that is read again when it
// was replaced, so that a renewal needs no restart.
type certificateFile struct {
	certPath, keyPath string
	now               func() time.Time

	mu      sync.Mutex
	cert    *tls.Certificate
	changed time.Time // modification time of what is loaded
	checked time.Time
}

// certificateRecheck sets how long a loaded certificate is used before the file
// is looked at again.
const certificateRecheck = time.Minute

// loadCertificate reads the pair once, so that a wrong file fails the start.
func loadCertificate(certPath, keyPath string, now func() time.Time) (*certificateFile, error) {
	f := &certificateFile{certPath: certPath, keyPath: keyPath, now: now}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *certificateFile) load() error {
	info, err := os.Stat(f.certPath)
	if err != nil {
		return fmt.Errorf("load TLS certificate: %w", err)
	}
	f.checked = f.now()
	if f.cert != nil && info.ModTime().Equal(f.changed) {
		return nil
	}
	if err := registry.CheckSecretFile(f.keyPath); err != nil {
		return fmt.Errorf("load TLS key: %w", err)
	}
	cert, err := tls.LoadX509KeyPair(f.certPath, f.keyPath)
	if err != nil {
		return fmt.Errorf("load TLS certificate: %w", err)
	}
	f.cert, f.changed = &cert, info.ModTime()
	return nil
}

// get implements tls.Config.GetCertificate. A replacement that cannot be read
// (half written) leaves the old certificate in use until the next look.
func (f *certificateFile) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now().Sub(f.checked) >= certificateRecheck {
		_ = f.load()
	}
	return f.cert, nil
}

// leaf is the certificate now in use.
func (f *certificateFile) leaf() *x509.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cert.Leaf
}

// certificateLevel rates a certificate's key and signature as SEC-23 does:
// good, phase-out or insufficient.
func certificateLevel(c *x509.Certificate) string {
	switch c.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1:
		return "insufficient"
	}
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return rsaLevel(key.N.BitLen())
	case *ecdsa.PublicKey:
		if key.Curve.Params().BitSize < 256 {
			return "phase-out"
		}
		return "good"
	case ed25519.PublicKey:
		return "good"
	}
	return "insufficient"
}

func rsaLevel(bits int) string {
	switch {
	case bits >= 3072:
		return "good"
	case bits >= 2048:
		return "phase-out"
	}
	return "insufficient"
}
