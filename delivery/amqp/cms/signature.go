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
)

var errMismatch = errors.New("the signature does not fit the content")

// verify checks the one signature of data over content, and gives its maker as
// soon as that is known.
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
