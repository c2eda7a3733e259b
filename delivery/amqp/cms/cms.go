// Package cms signs, encrypts, decrypts and verifies the bodies of AMQP
// messages with the Cryptographic Message Syntax (RFC 5652), as the profile
// asks: an encapsulated signature first, then an envelope (AMQP-66 to AMQP-71).
//
// What it writes is DER: SignedData with SHA-256 and the signer's certificate,
// EnvelopedData with AES-256-CBC and RSA PKCS#1 v1.5. What it reads may be BER
// as well: AuthEnvelopedData with AES-GCM, EnvelopedData with AES-CBC or Triple DES,
// keys with RSA-OAEP or PKCS#1 v1.5, signatures with RSA-PSS, PKCS#1 v1.5 or ECDSA
// and SHA-256, SHA-384 or SHA-512. A setting can reject any of them.
//
// The code is our own because it reads what strangers send: depth, number of
// elements and size are bounded before anything is decoded, a wrong RSA padding
// looks like a wrong key, and no algorithm hangs on a global of a library.
//
// A known hole that the profile leaves: CBC has no check sum, and the profile
// wants decryption-failed and invalid-signature kept distinct. Whoever may send to
// the queue under a registered address could learn from the difference, one
// message a guess. Duplicates are refused and errors go to the registered queue
// only, which makes that impractical.
//
// All functions are safe for concurrent use.
package cms

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"strings"

	"schakel/delivery/amqp/certs"
)

// Identity is a certificate with its private key. Signing needs a key that is a
// crypto.Signer, opening one that is a crypto.Decrypter for RSA.
type Identity struct {
	Certificate *x509.Certificate
	Key         crypto.PrivateKey
}

// DefaultBytes is the largest body that is read when Limits names none, in
// bytes: twice what a broker lets through.
const DefaultBytes = 32 << 20

// Limits bounds what is read. The zero value is ready for use.
type Limits struct {
	Bytes int // largest body, in bytes; 0 means DefaultBytes
	// Rejected names the algorithms that are not accepted, out of Algorithms.
	Rejected []string
}

func (l Limits) check(body []byte) error {
	most := l.Bytes
	if most <= 0 {
		most = DefaultBytes
	}
	if len(body) > most {
		return fmt.Errorf("%d bytes, more than the %d allowed", len(body), most)
	}
	return nil
}

// thumbprints joins the thumbprints of several certificates with commas.
func thumbprints(list []*x509.Certificate) string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		out = append(out, certs.Thumbprint(c))
	}
	return strings.Join(out, ",")
}
