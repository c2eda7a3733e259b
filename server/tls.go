package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"schakel/server/cli"
)

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
	if err := cli.CheckSecretFile(f.keyPath); err != nil {
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
