// Package certtest makes certificates for tests: a root, an intermediate and leaves below it, as PKIoverheid has them, and revocation lists.
//
// Nothing of it is for production: keys are small and short-lived, and a failure ends the test.
package certtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// PKI is a root with one intermediate that signs leaves.
type PKI struct {
	Root, Between *x509.Certificate

	t          testing.TB
	now        time.Time
	rootKey    crypto.Signer
	betweenKey crypto.Signer
	serial     int64
}

// Pair is a certificate with its key and its issuers.
type Pair struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
	// Chain is the certificate and its intermediate, as PEM; KeyPEM the key in PKCS #8.
	Chain, KeyPEM []byte
	TLS           tls.Certificate
}

// New makes a root and an intermediate that are valid for a year around now.
func New(t testing.TB, now time.Time) *PKI {
	t.Helper()
	p := &PKI{t: t, now: now, serial: 10}
	ca := func(name string) *x509.Certificate {
		p.serial++
		return &x509.Certificate{
			SerialNumber: big.NewInt(p.serial), Subject: pkix.Name{CommonName: name, Organization: []string{"Test"}, Country: []string{"NL"}},
			NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}
	}
	root, between := p.key(), p.key()
	template := ca("Test Root")
	p.Root, p.rootKey = p.sign(template, template, root.Public(), root), root
	p.Between, p.betweenKey = p.sign(ca("Test Private Services"), p.Root, between.Public(), root), between
	return p
}

func (p *PKI) key() *ecdsa.PrivateKey {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	return key
}

func (p *PKI) sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	p.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		p.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		p.t.Fatal(err)
	}
	return cert
}

// Issue makes a certificate of an organisation for both ends of TLS on this machine, valid for 90 days; change may alter it before it is
// signed.
func (p *PKI) Issue(oin string, change ...func(*x509.Certificate)) Pair {
	p.t.Helper()
	pair := Pair{Key: p.key()}
	pair.Cert = p.Sign(pair.Key.Public(), oin, change...)
	der, err := x509.MarshalPKCS8PrivateKey(pair.Key)
	if err != nil {
		p.t.Fatal(err)
	}
	pair.Chain, pair.KeyPEM = PEM(pair.Cert, p.Between), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	pair.TLS = tls.Certificate{Certificate: [][]byte{pair.Cert.Raw, p.Between.Raw}, PrivateKey: pair.Key, Leaf: pair.Cert}
	return pair
}

// Sign is Issue for a key that somebody else has.
func (p *PKI) Sign(public crypto.PublicKey, oin string, change ...func(*x509.Certificate)) *x509.Certificate {
	p.t.Helper()
	p.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(p.serial), Subject: pkix.Name{CommonName: "localhost", SerialNumber: oin, Organization: []string{"Example"}, Country: []string{"NL"}},
		NotBefore: p.now.Add(-time.Hour), NotAfter: p.now.AddDate(0, 0, 90), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, f := range change {
		f(template)
	}
	return p.sign(template, p.Between, public, p.betweenKey)
}

// CRL makes the revocation list of the intermediate, valid for a day, as PEM.
func (p *PKI) CRL(revoked ...*x509.Certificate) []byte {
	p.t.Helper()
	p.serial++
	list := &x509.RevocationList{Number: big.NewInt(p.serial), ThisUpdate: p.now.Add(-time.Minute), NextUpdate: p.now.AddDate(0, 0, 1)}
	for _, c := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: p.now.Add(-time.Minute)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, p.Between, p.betweenKey)
	if err != nil {
		p.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})
}

// OCSP makes the answer of the intermediate that a certificate is good, which nobody may keep; change may alter it before it is signed.
func (p *PKI) OCSP(c *x509.Certificate, change ...func(*ocsp.Response)) []byte {
	p.t.Helper()
	template := ocsp.Response{Status: ocsp.Good, SerialNumber: c.SerialNumber, ThisUpdate: p.now.Add(-time.Minute)}
	for _, f := range change {
		f(&template)
	}
	der, err := ocsp.CreateResponse(p.Between, p.Between, template, p.betweenKey)
	if err != nil {
		p.t.Fatal(err)
	}
	return der
}

// PEM writes certificates.
func PEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}
