// Package cms signs, encrypts, decrypts and verifies the bodies of AMQP messages with the Cryptographic Message Syntax (RFC
// 5652), as the profile asks: an encapsulated signature first, then an envelope (AMQP-66 to AMQP-71).
//
// What it writes is DER: SignedData with SHA-256 and the signer's certificate, EnvelopedData with AES-256-CBC and RSA PKCS#1
// v1.5. What it reads may be BER as well: AuthEnvelopedData with AES-GCM, EnvelopedData with AES-CBC or Triple DES, keys with
// RSA-OAEP or PKCS#1 v1.5, signatures with RSA-PSS, PKCS#1 v1.5 or ECDSA and SHA-256, SHA-384 or SHA-512. A setting can reject
// any of them.
//
// The code is our own because it reads what strangers send: depth, number of elements and size are bounded before anything is
// decoded, a wrong RSA padding looks like a wrong key, and no algorithm hangs on a global of a library.
//
// A known hole that the profile leaves: CBC has no check sum, and the profile wants decryption-failed and invalid-signature kept
// distinct. Whoever may send to the queue under a registered address could learn from the difference, one message a guess.
// Duplicates are refused and errors go to the registered queue only, which makes that impractical.
//
// All functions are safe for concurrent use.
package cms

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"schakel/delivery/amqp/certs"
)

// Identity is a certificate with its private key. Signing needs a key that is a
// crypto.Signer, opening one that is a crypto.Decrypter for RSA.
type Identity struct {
	Certificate *x509.Certificate
	Key         crypto.PrivateKey
}

// DefaultBytes is the largest body that is read when Limits names none, in bytes: twice what a broker lets through.
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

func thumbprints(list []*x509.Certificate) string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		out = append(out, certs.Thumbprint(c))
	}
	return strings.Join(out, ",")
}

// Kind names the problem of a message, in the words of the error queue.
type Kind string

// What can be wrong with a message.
const (
	// InvalidCMS: not CMS, cut off, of another content type, too large, or with a detached signature (AMQP-127).
	InvalidCMS Kind = "transport:invalid-cms-pkcs"
	// UnknownRecipient: encrypted for a certificate that is not ours (AMQP-128).
	UnknownRecipient Kind = "transport:invalid-certificate"
	// DecryptionFailed: encrypted for us, and yet not readable. Whatever the cause, there is one kind, so that nobody learns from
	// it (AMQP-131). The text names an algorithm that is not accepted, which stands in the message in the clear; all that depends
	// on the key has one text.
	DecryptionFailed Kind = "transport:decryption-failed"
	// InvalidSignature: the signature does not fit the content, or is not the one of the registered sender (AMQP-132, AMQP-72).
	InvalidSignature Kind = "transport:invalid-signature"
)

// ErrOtherSigner reports that the signature is sound, but made with a certificate that is not among the wanted ones. Fresh
// certificates from the address registry may cure it (AMQP-62).
var ErrOtherSigner = errors.New("signed with a certificate that is not registered for the sender")

// Failure is a fault of the message, which its sender can mend. Every other
// error of this package is a fault on our side and no concern of the sender.
type Failure struct {
	Kind Kind
	// Expected and Actual are SHA-1 thumbprints in upper-case hexadecimal, with commas where there are several. Where a message
	// names a recipient only by issuer and serial number, Actual holds those. Either may be empty.
	Expected, Actual string

	err error
}

// Error is a text for logs; it holds nothing of the content.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.err }

// KindOf gives the kind of a Failure, and "" for every other error.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Kind
	}
	return ""
}

func invalid(err error) *Failure { return &Failure{Kind: InvalidCMS, err: err} }

// Algorithms that a received message may use, by the names that a setting gives them. SHA-1 and MD5 as digests of a signature,
// single DES and RC2 are never accepted.
const (
	KeyRSA      = "rsa-pkcs1v15"  // the content key, with RSA PKCS#1 v1.5
	KeyOAEP     = "rsa-oaep"      // the content key, with RSA-OAEP and any hash
	KeyOAEPSHA1 = "rsa-oaep-sha1" // the same with SHA-1 in it, which is its default; it protects no signature

	ContentAESCBC    = "aes-cbc"
	ContentAESGCM    = "aes-gcm"
	ContentTripleDES = "3des-cbc"

	SignatureRSA   = "rsa-pkcs1v15-signature"
	SignaturePSS   = "rsa-pss"
	SignatureECDSA = "ecdsa"
)

// Algorithms lists the names of algorithms that can be rejected.
func Algorithms() []string {
	return []string{KeyRSA, KeyOAEP, KeyOAEPSHA1, ContentAESCBC, ContentAESGCM, ContentTripleDES, SignatureRSA, SignaturePSS, SignatureECDSA}
}

// CheckRejected answers an error for a name of rejected algorithms that is not known.
func CheckRejected(names []string) error {
	for _, name := range names {
		if !slices.Contains(Algorithms(), name) {
			return fmt.Errorf("unknown algorithm %q: choose from %s", name, strings.Join(Algorithms(), ", "))
		}
	}
	return nil
}

// algorithmError names an algorithm that is not accepted. Which one a message uses stands in it in the clear, so that saying
// so tells nobody anything about a key.
type algorithmError struct{ name, why string }

func (e *algorithmError) Error() string { return "the algorithm " + e.name + " " + e.why }

func unknownAlgorithm(name string) error {
	return &algorithmError{name, "is not accepted"}
}

// reject gives an error when one of the names is rejected by the limits.
func (l Limits) reject(names ...string) error {
	for _, name := range names {
		if slices.Contains(l.Rejected, name) {
			return &algorithmError{name, "is rejected by the settings of this installation"}
		}
	}
	return nil
}

// The object identifiers that are written or read.
func oidData() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1} }

func oidSignedData() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2} }

func oidEnvelopedData() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 3}
}

func oidContentType() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3} }

func oidDigest() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4} }

func oidRSA() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1} }

func oidECDSASHA256() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2} }

func oidSHA256() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
}

func oidAES256CBC() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"explicit,optional,tag:0"`
}

type envelopedData struct {
	Version    int
	Originator asn1.RawValue   `asn1:"optional,tag:0"`
	Recipients []asn1.RawValue `asn1:"set"`
	Encrypted  encryptedContent
}

type encryptedContent struct {
	Type      asn1.ObjectIdentifier
	Algorithm pkix.AlgorithmIdentifier
	Content   asn1.RawValue `asn1:"optional,tag:0"`
}

type keyTransport struct {
	Version   int
	Recipient asn1.RawValue
	Algorithm pkix.AlgorithmIdentifier
	Key       []byte
}

type signedData struct {
	Version      int
	Digests      []asn1.RawValue `asn1:"set"`
	Content      contentInfo
	Certificates asn1.RawValue   `asn1:"optional,tag:0"`
	CRLs         asn1.RawValue   `asn1:"optional,tag:1"`
	Signers      []asn1.RawValue `asn1:"set"`
}

type signerInfo struct {
	Version    int
	Signer     asn1.RawValue
	Digest     pkix.AlgorithmIdentifier
	Attributes asn1.RawValue `asn1:"optional,tag:0"`
	Algorithm  pkix.AlgorithmIdentifier
	Signature  []byte
	Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values []asn1.RawValue `asn1:"set"`
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

// unmarshal reads der whole: nothing may be left behind it.
func unmarshal(der []byte, into any) error {
	rest, err := asn1.Unmarshal(der, into)
	if err != nil {
		return fmt.Errorf("%w: %w", errASN1, err)
	}
	if len(rest) > 0 {
		return errTrailing
	}
	return nil
}

// readContent checks size, shape and content type of a message, and decodes what is inside.
func (l Limits) readContent(body []byte, want asn1.ObjectIdentifier, into any) error {
	outer, err := l.readOuter(body)
	if err != nil {
		return err
	}
	if !outer.Type.Equal(want) {
		return fmt.Errorf("content type %s where %s is wanted", outer.Type, want)
	}
	return unmarshal(outer.Content.Bytes, into)
}

// readOuter checks size and shape of a message, and gives its content with its type.
func (l Limits) readOuter(body []byte) (contentInfo, error) {
	var outer contentInfo
	if err := l.check(body); err != nil {
		return outer, err
	}
	der, err := toDER(body)
	if err != nil {
		return outer, err
	}
	if err := unmarshal(der, &outer); err != nil {
		return outer, err
	}
	if len(outer.Content.FullBytes) == 0 {
		return outer, errors.New("no content")
	}
	return outer, nil
}

// certificateID names a certificate in a message: by issuer and serial number, or by its subject key identifier.
type certificateID struct {
	issuer []byte // DER of the name
	serial *big.Int
	key    []byte
}

func readCertificateID(raw asn1.RawValue) (certificateID, error) {
	if raw.Class == asn1.ClassContextSpecific && raw.Tag == 0 && !raw.IsCompound {
		return certificateID{key: raw.Bytes}, nil
	}
	var named issuerAndSerial
	if err := unmarshal(raw.FullBytes, &named); err != nil {
		return certificateID{}, err
	}
	return certificateID{issuer: named.Issuer.FullBytes, serial: named.Serial}, nil
}

func (id certificateID) fits(c *x509.Certificate) bool {
	if id.serial == nil {
		return len(id.key) > 0 && string(id.key) == string(c.SubjectKeyId)
	}
	return id.serial.Cmp(c.SerialNumber) == 0 && string(id.issuer) == string(c.RawIssuer)
}

// String names the certificate for a person, in at most some 300 characters.
func (id certificateID) String() string {
	if id.serial == nil {
		return shorten(fmt.Sprintf("subject key identifier %X", id.key))
	}
	var name pkix.RDNSequence
	if err := unmarshal(id.issuer, &name); err != nil {
		return shorten(fmt.Sprintf("serial number %X", id.serial))
	}
	return shorten(fmt.Sprintf("serial number %X of %s", id.serial, name))
}

func shorten(text string) string {
	const most = 300
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
