package cms

import (
	"crypto"
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

// signedAttributes are the content type and the digest, in the order DER wants
// them: the shorter first.
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

// nameOf names a certificate by issuer and serial number.
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
