package cms

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha256" // SHA-256
	_ "crypto/sha512" // SHA-384 and SHA-512
	"crypto/subtle"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"

	"schakel/delivery/amqp/certs"
)

const maxCertificates = 32

// Verified is a signed message whose signature was checked.
type Verified struct {
	Content []byte            // the signed octets; a part of what was given, not a copy
	Signer  *x509.Certificate // as sent; its validity is for package certs to judge
}

// Verify is Limits.Verify with the default limits.
func Verify(signed []byte, want []*x509.Certificate) (Verified, error) {
	return Limits{}.Verify(signed, want)
}

// Verify checks an encapsulated signature (AMQP-66, AMQP-68) and that it was made with one of the wanted certificates, of the
// sender in the address registry (AMQP-72). The error is a *Failure of the kinds InvalidCMS or InvalidSignature; with
// ErrOtherSigner the Signer is given, but not the Content.
func (l Limits) Verify(signed []byte, want []*x509.Certificate) (Verified, error) {
	var data signedData
	if err := l.readContent(signed, oidSignedData(), &data); err != nil {
		return Verified{}, invalid(err)
	}
	content, err := encapsulated(data.Content)
	if err != nil {
		return Verified{}, invalid(err)
	}
	signer, err := l.verify(data, content)
	if err == nil && !slices.ContainsFunc(want, signer.Equal) {
		err = ErrOtherSigner
	}
	if err == nil {
		return Verified{Content: content, Signer: signer}, nil
	}
	failure := &Failure{Kind: InvalidSignature, Expected: thumbprints(want), err: err}
	if signer != nil {
		failure.Actual = certs.Thumbprint(signer)
	}
	return Verified{Signer: signer}, failure
}

// Unsealed holds the content of a message that was signed and then encrypted.
type Unsealed struct {
	Verified

	Recipient *x509.Certificate // the certificate of ours that it was encrypted for
}

// Unseal is Limits.Unseal with the default limits.
func Unseal(body []byte, keys []Identity, want []*x509.Certificate) (Unsealed, error) {
	return Limits{}.Unseal(body, keys, want)
}

// Unseal opens and then verifies (AMQP-67). Content that is no signed message once it is decrypted is DecryptionFailed, like
// every other trouble with decryption: a wrong key may well give octets with a padding that fits.
func (l Limits) Unseal(body []byte, keys []Identity, want []*x509.Certificate) (Unsealed, error) {
	opened, err := l.Open(body, keys)
	if err != nil {
		return Unsealed{}, err
	}
	verified, err := l.Verify(opened.Content, want)
	if KindOf(err) == InvalidCMS {
		return Unsealed{}, unreadable(opened.Recipient, errUnreadable)
	}
	return Unsealed{verified, opened.Recipient}, err
}

// encapsulated gives the octets that were signed; they have to be in the message.
func encapsulated(info contentInfo) ([]byte, error) {
	if !info.Type.Equal(oidData()) {
		return nil, fmt.Errorf("signed content of type %s", info.Type)
	}
	if len(info.Content.FullBytes) == 0 {
		return nil, errors.New("the signature is detached from its content")
	}
	var content asn1.RawValue
	if err := unmarshal(info.Content.Bytes, &content); err != nil {
		return nil, err
	}
	if content.FullBytes[0] != tagOctets {
		return nil, errASN1
	}
	return content.Bytes, nil
}

func signerOf(data signedData) (signerInfo, *x509.Certificate, error) {
	var info signerInfo
	if len(data.Signers) != 1 {
		return info, nil, fmt.Errorf("%d signers where one is wanted", len(data.Signers))
	}
	if err := unmarshal(data.Signers[0].FullBytes, &info); err != nil {
		return info, nil, err
	}
	id, err := readCertificateID(info.Signer)
	if err != nil {
		return info, nil, err
	}
	rest := data.Certificates.Bytes
	for range maxCertificates {
		var raw asn1.RawValue
		if rest, err = asn1.Unmarshal(rest, &raw); err != nil {
			break
		}
		if c, err := x509.ParseCertificate(raw.FullBytes); err == nil && id.fits(c) {
			return info, c, nil
		}
	}
	return info, nil, errors.New("the signer's certificate is not in the message")
}

var errMismatch = errors.New("the signature does not fit the content")

// verify checks the one signature of data over content, and gives its maker as soon as that is known.
func (l Limits) verify(data signedData, content []byte) (*x509.Certificate, error) {
	info, signer, err := signerOf(data)
	if err != nil {
		return nil, err
	}
	hash, err := digestOf(info)
	if err != nil {
		return signer, err
	}
	check, name, err := checkOf(info, signer, hash)
	if err == nil {
		err = l.reject(name)
	}
	if err != nil {
		return signer, err
	}
	signed, err := signedOctets(info, content, hash)
	if err != nil {
		return signer, err
	}
	if check(signed, info.Signature) != nil {
		return signer, errMismatch
	}
	return signer, nil
}

// digestOf accepts the digests of the SHA-2 family.
func digestOf(info signerInfo) (crypto.Hash, error) {
	hash, err := hashOf(info.Digest)
	if err != nil || hash == crypto.SHA1 {
		return 0, unknownAlgorithm(info.Digest.Algorithm.String() + " for the digest of the signature")
	}
	return hash, nil
}

// checkOf gives how to check a signature, and the name of its algorithm: RSA PKCS#1 v1.5, RSA-PSS or ECDSA.
func checkOf(info signerInfo, signer *x509.Certificate, hash crypto.Hash) (check func(signed, signature []byte) error, name string, err error) {
	key, isRSA := signer.PublicKey.(*rsa.PublicKey)
	if isRSA && info.Algorithm.Algorithm.Equal(oidPSS()) {
		p, err := readPSS(info.Algorithm, hash)
		return func(signed, signature []byte) error { return p.verify(key, signed, signature) }, SignaturePSS, err
	}
	_, isECDSA := signer.PublicKey.(*ecdsa.PublicKey)
	for _, a := range []struct {
		hash       crypto.Hash
		rsa, ecdsa x509.SignatureAlgorithm
		nameRSA    string
		nameECDSA  string
	}{
		{crypto.SHA256, x509.SHA256WithRSA, x509.ECDSAWithSHA256, "1.2.840.113549.1.1.11", "1.2.840.10045.4.3.2"},
		{crypto.SHA384, x509.SHA384WithRSA, x509.ECDSAWithSHA384, "1.2.840.113549.1.1.12", "1.2.840.10045.4.3.3"},
		{crypto.SHA512, x509.SHA512WithRSA, x509.ECDSAWithSHA512, "1.2.840.113549.1.1.13", "1.2.840.10045.4.3.4"},
	} {
		named := info.Algorithm.Algorithm
		switch {
		case a.hash != hash:
		case isRSA && (named.Equal(oidRSA()) || named.String() == a.nameRSA):
			return func(signed, signature []byte) error { return signer.CheckSignature(a.rsa, signed, signature) }, SignatureRSA, nil
		case isECDSA && named.String() == a.nameECDSA:
			return func(signed, signature []byte) error { return signer.CheckSignature(a.ecdsa, signed, signature) }, SignatureECDSA, nil
		}
	}
	return nil, "", unknownAlgorithm(info.Algorithm.Algorithm.String() + " for the signature")
}

// signedOctets gives the octets that the signature covers: the signed attributes,
// which hold the digest of the content, or the content itself.
func signedOctets(info signerInfo, content []byte, hash crypto.Hash) ([]byte, error) {
	if len(info.Attributes.FullBytes) == 0 {
		// Else attributes that were signed once could be shown as a content.
		if len(content) > 0 && content[0] == tagSet {
			return nil, errMismatch
		}
		return content, nil
	}
	set := append([]byte{tagSet}, info.Attributes.FullBytes[1:]...)
	var attributes []attribute
	if _, err := asn1.UnmarshalWithParams(set, &attributes, "set"); err != nil {
		return nil, errASN1
	}
	kind, err := only(attributes, oidContentType())
	if err != nil || string(kind.FullBytes) != string(object(oidData()).raw) {
		return nil, errors.New("the signed content type is another")
	}
	digest, err := only(attributes, oidDigest())
	if err != nil || digest.FullBytes[0] != tagOctets {
		return nil, errors.New("no digest is signed")
	}
	h := hash.New()
	h.Write(content)
	if subtle.ConstantTimeCompare(digest.Bytes, h.Sum(nil)) != 1 {
		return nil, errMismatch
	}
	return set, nil
}

// only gives the single value of an attribute that occurs once.
func only(attributes []attribute, kind asn1.ObjectIdentifier) (asn1.RawValue, error) {
	var found []asn1.RawValue
	for _, a := range attributes {
		if a.Type.Equal(kind) {
			found = append(found, a.Values...)
		}
	}
	if len(found) != 1 {
		return asn1.RawValue{}, errMismatch
	}
	return found[0], nil
}
