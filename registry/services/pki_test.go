package services

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// pki is an authority that signs certificates of organisations.
type pki struct {
	t       *testing.T
	now     time.Time
	Between *x509.Certificate
	key     *ecdsa.PrivateKey
	serial  int64
}

// pair is a certificate with its key; Chain has its authority behind it.
type pair struct {
	Cert          *x509.Certificate
	Key           *ecdsa.PrivateKey
	Chain, KeyPEM []byte
	TLS           tls.Certificate
}

func newPKI(t *testing.T, now time.Time) *pki {
	t.Helper()
	p := &pki{t: t, now: now, key: ecKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Private Services", Country: []string{"NL"}}, NotBefore: now.AddDate(-1, 0, 0),
		NotAfter: now.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	p.Between = template
	p.Between = p.sign(template, p.key)
	return p
}

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func (p *pki) sign(template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	p.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, p.Between, key.Public(), p.key)
	must(p.t, err)
	c, err := x509.ParseCertificate(der)
	must(p.t, err)
	return c
}

// Issue makes a certificate of an organisation, valid for 90 days; change may alter it before it is signed.
func (p *pki) Issue(oin string, change ...func(*x509.Certificate)) pair {
	p.t.Helper()
	p.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(10 + p.serial), Subject: pkix.Name{CommonName: "events.example.nl", SerialNumber: oin}, NotBefore: p.now.Add(-time.Hour), NotAfter: p.now.AddDate(0, 0, 90),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, f := range change {
		f(template)
	}
	made := pair{Key: ecKey(p.t)}
	made.Cert = p.sign(template, made.Key)
	der, err := x509.MarshalPKCS8PrivateKey(made.Key)
	must(p.t, err)
	made.Chain = append(certificatePEM(made.Cert), certificatePEM(p.Between)...)
	made.KeyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	made.TLS = tls.Certificate{Certificate: [][]byte{made.Cert.Raw, p.Between.Raw}, PrivateKey: made.Key, Leaf: made.Cert}
	return made
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
