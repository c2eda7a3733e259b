package trial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// PKI is an authority of the test's own and a certificate for this machine.
type PKI struct {
	CAFile, CertFile, KeyFile string // PEM
	Cert                      tls.Certificate
	Client                    *http.Client // trusts the authority; 30 s
}

// NewPKI makes an authority and a certificate for localhost, valid for a day.
func NewPKI(t T) *PKI {
	t.Helper()
	dir := t.TempDir()
	caKey, key := newKey(t), newKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	Must(t, err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	Must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	Must(t, err)
	p := &PKI{
		CAFile:   writePEM(t, dir, "ca.pem", "CERTIFICATE", caDER),
		CertFile: writePEM(t, dir, "cert.pem", "CERTIFICATE", leafDER),
		KeyFile:  writePEM(t, dir, "key.pem", "PRIVATE KEY", keyDER),
		Cert:     tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: key},
	}
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(caDER)
	Must(t, err)
	roots.AddCert(parsed)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	p.Client = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	return p
}

func newKey(t T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Must(t, err)
	return key
}

func writePEM(t T, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	Must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}
