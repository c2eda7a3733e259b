package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"

	"schakel/delivery/amqp/cms"
)

// Authority issues the enterprise certificates of the demonstration. It lives as long as the demonstration does, and
// nothing asks it whether a certificate was revoked.
type Authority struct {
	now         func() time.Time
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// certificateLife sets how long its certificates last: longer than any demonstration.
const certificateLife = 365 * 24 * time.Hour

// NewAuthority makes an authority with a key of its own.
func NewAuthority(now func() time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of authority: %w", err)
	}
	a := &Authority{now: now, key: key}
	own := a.template("Demonstration CA", x509.KeyUsageCertSign|x509.KeyUsageCRLSign)
	own.IsCA = true
	a.certificate = own // it signs itself
	a.certificate, err = a.issue(own, key.Public())
	return a, err
}

func (a *Authority) template(name string, usage x509.KeyUsage) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())[:8]),
		Subject:      pkix.Name{CommonName: name, Organization: []string{"Schakel demonstration"}},
		NotBefore:    a.now().Add(-time.Hour), NotAfter: a.now().Add(certificateLife),
		KeyUsage: usage, BasicConstraintsValid: true,
	}
}

func (a *Authority) issue(template *x509.Certificate, public any) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("issue certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// PEM writes the certificate of the authority.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// Identity is a party with its two enterprise certificates and their keys.
type Identity struct {
	Name  string
	HerID int

	Sign, Encrypt cms.Identity
}

// Identity issues the certificates of a party: one to sign with (AMQP-69), one to encrypt to (AMQP-70).
func (a *Authority) Identity(name string, herID int) (Identity, error) {
	i := Identity{Name: name, HerID: herID}
	for _, one := range []struct {
		into  *cms.Identity
		usage x509.KeyUsage
	}{
		{&i.Sign, x509.KeyUsageContentCommitment},
		{&i.Encrypt, x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment},
	} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return i, fmt.Errorf("make key of %s: %w", name, err)
		}
		certificate, err := a.issue(a.template(name, one.usage), key.Public())
		if err != nil {
			return i, err
		}
		*one.into = cms.Identity{Certificate: certificate, Key: key}
	}
	return i, nil
}

// PEM writes the certificates, and their private keys.
func (i Identity) PEM() (certificates, keys string, err error) {
	var c, k strings.Builder
	for _, one := range []cms.Identity{i.Sign, i.Encrypt} {
		der, err := x509.MarshalPKCS8PrivateKey(one.Key)
		if err != nil {
			return "", "", fmt.Errorf("write key of %s: %w", i.Name, err)
		}
		c.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate.Raw}))
		k.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	return c.String(), k.String(), nil
}
