package link_test

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
	"testing"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
)

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key, a.cert, _ = a.sign("authority", nil)
	return a
}

// sign makes a key and a certificate, by the authority or, without one, by itself.
func (a *authority) sign(name string, by *authority) (*ecdsa.PrivateKey, *x509.Certificate, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: by == nil, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if by == nil {
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert, raw
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func asPEM(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// Over TLS the broker is verified, and a certificate can be the login.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	key, _, server := a.sign("broker", a)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	b := brokertest.StartOwn(t, brokertest.RabbitMQ4, &brokertest.Certificates{
		Authority: asPEM("CERTIFICATE", a.cert.Raw), Certificate: asPEM("CERTIFICATE", server), Key: asPEM("PRIVATE KEY", secret),
	})
	p := b.NewParty(t)
	b.User(t, "party", "", ".*", ".*")
	partyKey, _, party := a.sign("party", a)
	certificate := tls.Certificate{Certificate: [][]byte{party}, PrivateKey: partyKey}
	trusting := &tls.Config{RootCAs: a.pool(), MinVersion: tls.VersionTLS12}
	byCertificate := trusting.Clone()
	byCertificate.Certificates = []tls.Certificate{certificate}

	for name, test := range map[string]struct {
		cfg link.Config
		ok  bool
	}{
		"password":       {link.Config{TLS: trusting, Username: brokertest.User, Password: brokertest.Password}, true},
		"wrong password": {link.Config{TLS: trusting, Username: brokertest.User, Password: "wrong"}, false},
		"certificate":    {link.Config{TLS: byCertificate, SASL: link.External}, true},
		"unknown issuer": {link.Config{Username: brokertest.User, Password: brokertest.Password}, false},
		"nobody":         {link.Config{TLS: trusting, SASL: link.Anonymous, Username: ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.cfg.URL = b.TLSURL
			c := connect(t, test.cfg)
			err := c.Send(within(t), p.Async, plain("1"))
			if (err == nil) != test.ok {
				t.Errorf("Send gave %v", err)
			}
			if state := c.State(); !test.ok && state.Error == "" {
				t.Errorf("the state is %+v", state)
			}
		})
	}
}
