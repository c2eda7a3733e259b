package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writeCertificate makes a self-signed certificate and writes it in dir.
func writeCertificate(t *testing.T, dir string, key crypto.Signer, serial int64) (certPath, keyPath string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPath, keyPath = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, certPath, "CERTIFICATE", der)
	writePEM(t, keyPath, "PRIVATE KEY", private)
	return certPath, keyPath
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestTLSVersionsAndSuites offers each version and suite alone (SEC-20, SEC-21).
//
// Rules: SEC-20, SEC-21.
func TestTLSVersionsAndSuites(t *testing.T) {
	t.Parallel()
	certPath, keyPath := writeCertificate(t, t.TempDir(), ecKey(t), 1)
	certs, err := loadCertificate(certPath, keyPath, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	// The suites alone keep older versions out; the version is to do so by itself too.
	if least := serverTLS(certs).MinVersion; least != tls.VersionTLS12 {
		t.Errorf("least version %s", tls.VersionName(least))
	}
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		client := &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}
		if err := handshake(t, serverTLS(certs), client); (err == nil) != ok {
			t.Errorf("%s: %v, want ok=%v", tls.VersionName(version), err, ok)
		}
	}
	good := map[uint16]bool{}
	for _, id := range cipherSuites() {
		good[id] = true
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if suite.SupportedVersions[0] == tls.VersionTLS13 {
			continue // not configurable, all good
		}
		client := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, MinVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}
		err := handshake(t, serverTLS(certs), client)
		// The certificate of this test is ECDSA, so suites with RSA cannot be agreed on.
		want := good[suite.ID] && suite.Name[:13] == "TLS_ECDHE_ECD"
		if (err == nil) != want {
			t.Errorf("%s: %v, want ok=%v", suite.Name, err, want)
		}
	}
}

func handshake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go func() { _ = tls.Server(a, server).HandshakeContext(t.Context()); _ = a.Close() }()
	return tls.Client(b, client).HandshakeContext(t.Context())
}

func TestCertificateReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certPath, keyPath := writeCertificate(t, dir, ecKey(t), 1)
	now := time.Now()
	certs, err := loadCertificate(certPath, keyPath, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		c, err := certs.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.Int64()
	}
	writeCertificate(t, dir, ecKey(t), 2)
	newer := now.Add(time.Second)
	if err := os.Chtimes(certPath, newer, newer); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 1 {
		t.Errorf("serial %d: looked at the file too soon", got)
	}
	now = now.Add(certificateRecheck)
	if got := serial(); got != 2 {
		t.Errorf("serial %d: the new certificate is not in use", got)
	}
	if err := os.WriteFile(certPath, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(certificateRecheck)
	if got := serial(); got != 2 {
		t.Errorf("serial %d: a broken file took the old certificate away", got)
	}
}

// Rules: SEC-23.
func TestCertificateLevel(t *testing.T) {
	t.Parallel()
	level := func(key crypto.Signer) string {
		certPath, keyPath := writeCertificate(t, t.TempDir(), key, 1)
		certs, err := loadCertificate(certPath, keyPath, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return certificateLevel(certs.leaf())
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	if got := level(ecKey(t)); got != "good" {
		t.Errorf("P-256: %s", got)
	}
	if got := level(weak); got != "phase-out" {
		t.Errorf("RSA 2048: %s", got)
	}
	for bits, want := range map[int]string{1024: "insufficient", 2048: "phase-out", 3072: "good"} {
		if got := rsaLevel(bits); got != want {
			t.Errorf("RSA %d: %s, want %s", bits, got, want)
		}
	}
}
