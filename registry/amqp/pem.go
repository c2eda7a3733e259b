package amqp

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha1" // #nosec G505 -- a thumbprint names a certificate, as the profile writes it; nothing rests on it
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"schakel/store"
)

// maxPEMBytes bounds a text with certificates or a key.
const maxPEMBytes = 128 << 10

// leastRSABits is the shortest RSA key that is taken.
const leastRSABits = 2048

// certificateChain is a certificate with those that lead to its root.
type certificateChain struct {
	leaf  *x509.Certificate
	chain []*x509.Certificate
}

// thumbprint names a certificate: SHA-1, upper-case hex, as NHN writes it.
func thumbprint(c *x509.Certificate) string {
	sum := sha1.Sum(c.Raw) // #nosec G401 -- see the import
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// readCertificates reads certificates in PEM. Each that is no CA's begins a new one; those of CAs belong to the one before.
// Its error is told to people.
func readCertificates(text string) ([]certificateChain, error) {
	var list []certificateChain
	err := eachBlock(text, func(b *pem.Block) error {
		if b.Type != "CERTIFICATE" {
			return errors.New("this is a " + strings.ToLower(b.Type) + ", not a certificate")
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return fmt.Errorf("a certificate in it cannot be read: %w", err)
		}
		if last := len(list) - 1; c.IsCA && last >= 0 {
			list[last].chain = append(list[last].chain, c)
		} else {
			list = append(list, certificateChain{leaf: c})
		}
		return nil
	})
	return list, err
}

// readKeys reads private keys in PEM: PKCS#8, PKCS#1 or SEC 1, none of them encrypted.
func readKeys(text string) ([]crypto.Signer, error) {
	var list []crypto.Signer
	err := eachBlock(text, func(b *pem.Block) error {
		key, err := readKey(b)
		if err == nil {
			list = append(list, key)
		}
		return err
	})
	return list, err
}

func readKey(b *pem.Block) (crypto.Signer, error) {
	if b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["Proc-Type"] != "" {
		return nil, errors.New("the private key is encrypted: take the password off first, for instance with openssl pkey; it is kept sealed here")
	}
	key, err := parseKey(b)
	if err != nil {
		return nil, errors.New("the private key cannot be read")
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	case ed25519.PrivateKey:
		return k, nil
	}
	return nil, errors.New("this kind of private key is not used here: take an RSA key")
}

func parseKey(b *pem.Block) (any, error) {
	switch b.Type {
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(b.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(b.Bytes)
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(b.Bytes)
	}
	return nil, errors.New("not a private key")
}

// eachBlock hands out the blocks of a PEM text, of which there must be one or more.
func eachBlock(text string, fn func(*pem.Block) error) error {
	if len(text) > maxPEMBytes {
		return errors.New("this is too long: use at most 128 KB")
	}
	n := 0
	for rest := []byte(text); ; n++ {
		block, more := pem.Decode(rest)
		if block == nil {
			break
		}
		if err := fn(block); err != nil {
			return err
		}
		rest = more
	}
	if n == 0 {
		return errors.New("paste it as PEM, a text that begins with -----BEGIN")
	}
	return nil
}

// writeChain writes a certificate with its chain in PEM.
func writeChain(c certificateChain) string {
	var b bytes.Buffer
	for _, one := range append([]*x509.Certificate{c.leaf}, c.chain...) {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: one.Raw}) // to memory
	}
	return b.String()
}

// fits reports whether a private key belongs to a certificate.
func fits(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// purposesOf lists the uses of a certificate by its key usage, OID 2.5.29.15 (AMQP-59, AMQP-69, AMQP-70). Key
// Encipherment does for Data Encipherment (INC-21).
func purposesOf(c *x509.Certificate) []string {
	var list []string
	if c.KeyUsage&x509.KeyUsageContentCommitment != 0 {
		list = append(list, store.AMQPSign)
	}
	if c.KeyUsage&(x509.KeyUsageDataEncipherment|x509.KeyUsageKeyEncipherment) != 0 {
		list = append(list, store.AMQPEncrypt)
	}
	return list
}

// checkEnterprise returns the reason why a certificate cannot be an enterprise certificate; empty when it can.
func checkEnterprise(c *x509.Certificate) string {
	key, ok := c.PublicKey.(*rsa.PublicKey)
	switch {
	case c.IsCA:
		return "The certificate of " + c.Subject.CommonName + " is that of a certificate authority. Put the enterprise certificate first."
	case !ok:
		return "The certificate of " + c.Subject.CommonName + " has no RSA key, which the profile uses for signing and encryption."
	case key.N.BitLen() < leastRSABits:
		return "The key of the certificate of " + c.Subject.CommonName + " is shorter than 2,048 bits."
	case len(purposesOf(c)) == 0:
		return "The certificate of " + c.Subject.CommonName + " may, by its key usage, neither sign (Non-Repudiation) nor encrypt (Data Encipherment or Key Encipherment)."
	}
	return ""
}
