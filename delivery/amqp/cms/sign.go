package cms

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
)

// ErrKey reports that an identity has no key, or one that cannot do what is asked.
var ErrKey = errors.New("the certificate has no key that fits")

// Sign puts content into a SignedData, whole and not detached (AMQP-66, AMQP-69),
// with a SHA-256 digest and the signer's certificate.
func Sign(content []byte, signer Identity) ([]byte, error) {
	signed, err := sign(content, signer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return signed.bytes(), nil
}

func sign(content []byte, signer Identity) (element, error) {
	key, algorithm, err := signingKey(signer)
	if err != nil {
		return element{}, err
	}
	attributes := signedAttributes(sha256.Sum256(content))
	digest := sha256.Sum256(constructed(tagSet, attributes...).bytes())
	signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return element{}, err
	}
	info := constructed(
		tagSequence,
		primitive(tagInteger, []byte{1}),
		nameOf(signer.Certificate),
		constructed(tagSequence, object(oidSHA256())),
		constructed(tagContext0, attributes...),
		algorithm,
		primitive(tagOctets, signature),
	)
	return wrap(oidSignedData(), constructed(
		tagSequence,
		primitive(tagInteger, []byte{1}),
		constructed(tagSet, constructed(tagSequence, object(oidSHA256()))),
		wrap(oidData(), primitive(tagOctets, content)),
		constructed(tagContext0, encoded(signer.Certificate.Raw)),
		constructed(tagSet, info),
	)), nil
}

// signingKey gives the key and the algorithm identifier of its signatures.
func signingKey(signer Identity) (crypto.Signer, element, error) {
	key, ok := signer.Key.(crypto.Signer)
	if !ok || signer.Certificate == nil {
		return nil, element{}, ErrKey
	}
	switch key.Public().(type) {
	case *rsa.PublicKey:
		return key, constructed(tagSequence, object(oidRSA()), primitive(tagNull, nil)), nil
	case *ecdsa.PublicKey:
		return key, constructed(tagSequence, object(oidECDSASHA256())), nil
	}
	return nil, element{}, ErrKey
}

// signedAttributes are the content type and the digest, in the order DER wants them: the shorter first.
func signedAttributes(digest [sha256.Size]byte) []element {
	return []element{
		constructed(tagSequence, object(oidContentType()), constructed(tagSet, object(oidData()))),
		constructed(tagSequence, object(oidDigest()), constructed(tagSet, primitive(tagOctets, digest[:]))),
	}
}

// wrap is a ContentInfo.
func wrap(kind asn1.ObjectIdentifier, content element) element {
	return constructed(tagSequence, object(kind), constructed(tagContext0, content))
}

func nameOf(c *x509.Certificate) element {
	return constructed(tagSequence, encoded(c.RawIssuer), integer(c))
}

func integer(c *x509.Certificate) element {
	der, _ := asn1.Marshal(c.SerialNumber) // a big.Int always can be marshalled
	return encoded(der)
}

func object(id asn1.ObjectIdentifier) element {
	der, _ := asn1.Marshal(id) // the identifiers are ours and well-formed
	return encoded(der)
}

// ErrRecipient reports that a certificate has no RSA key to encrypt for.
var ErrRecipient = errors.New("the recipient's certificate has no RSA key")

// Envelope encrypts for one recipient with AES-256-CBC and RSA PKCS#1 v1.5 (AMQP-70). signed is not changed.
func Envelope(signed []byte, recipient *x509.Certificate) ([]byte, error) {
	return envelope(encoded(signed), recipient)
}

// Seal signs content and encrypts the signed message, in that order (AMQP-67,
// AMQP-71). It needs the memory of one message, for the answer.
func Seal(content []byte, signer Identity, recipient *x509.Certificate) ([]byte, error) {
	signed, err := sign(content, signer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return envelope(signed, recipient)
}

func envelope(plain element, recipient *x509.Certificate) ([]byte, error) {
	const keySize = 32
	secret := make([]byte, keySize+aes.BlockSize)
	rand.Read(secret) // it never fails
	key, iv := secret[:keySize], secret[keySize:]
	padding := aes.BlockSize - plain.size()%aes.BlockSize
	outer, err := envelopeAround(plain.size()+padding, key, iv, recipient)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	out := outer.appendTo(make([]byte, 0, outer.size()))
	start := len(out)
	out = plain.appendTo(out)
	for range padding {
		out = append(out, byte(padding))
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(out[start:], out[start:])
	return out, nil
}

// envelopeAround is an EnvelopedData with a hole at its end for size octets of ciphertext.
func envelopeAround(size int, key, iv []byte, recipient *x509.Certificate) (element, error) {
	if recipient == nil {
		return element{}, ErrRecipient
	}
	public, ok := recipient.PublicKey.(*rsa.PublicKey)
	if !ok {
		return element{}, ErrRecipient
	}
	//nolint:staticcheck // SA1019: the profile's parties read no other padding
	wrapped, err := rsa.EncryptPKCS1v15(rand.Reader, public, key)
	if err != nil {
		return element{}, err
	}
	transport := constructed(
		tagSequence,
		primitive(tagInteger, []byte{0}),
		nameOf(recipient),
		constructed(tagSequence, object(oidRSA()), primitive(tagNull, nil)),
		primitive(tagOctets, wrapped),
	)
	encrypted := constructed(
		tagSequence,
		object(oidData()),
		constructed(tagSequence, object(oidAES256CBC()), primitive(tagOctets, iv)),
		element{tag: tagImplicit, hole: size},
	)
	return wrap(oidEnvelopedData(), constructed(
		tagSequence,
		primitive(tagInteger, []byte{0}),
		constructed(tagSet, transport),
		encrypted,
	)), nil
}
