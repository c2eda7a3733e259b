package cms

import (
	"crypto"
	"crypto/rsa"
	_ "crypto/sha256" // SHA-256
	_ "crypto/sha512" // SHA-384 and SHA-512
	"crypto/subtle"
	"crypto/x509"
	"encoding/asn1"
	"errors"
)

var (
	errAlgorithm = errors.New("signed with an algorithm that is not accepted")
	errMismatch  = errors.New("the signature does not fit the content")
)

// verify checks the one signature of data over content, and gives its maker as
// soon as that is known.
func verify(data signedData, content []byte) (*x509.Certificate, error) {
	info, signer, err := signerOf(data)
	if err != nil {
		return nil, err
	}
	hash, algorithm, err := algorithmOf(info, signer)
	if err != nil {
		return signer, err
	}
	signed, err := signedOctets(info, content, hash)
	if err != nil {
		return signer, err
	}
	if err := signer.CheckSignature(algorithm, signed, info.Signature); err != nil {
		return signer, errMismatch
	}
	return signer, nil
}

// algorithmOf accepts RSA PKCS#1 v1.5 and ECDSA with a digest of the SHA-2 family.
func algorithmOf(info signerInfo, signer *x509.Certificate) (crypto.Hash, x509.SignatureAlgorithm, error) {
	var hash crypto.Hash
	var forRSA, forECDSA x509.SignatureAlgorithm
	var nameRSA, nameECDSA string
	switch info.Digest.Algorithm.String() {
	case "2.16.840.1.101.3.4.2.1":
		hash, forRSA, forECDSA = crypto.SHA256, x509.SHA256WithRSA, x509.ECDSAWithSHA256
		nameRSA, nameECDSA = "1.2.840.113549.1.1.11", "1.2.840.10045.4.3.2"
	case "2.16.840.1.101.3.4.2.2":
		hash, forRSA, forECDSA = crypto.SHA384, x509.SHA384WithRSA, x509.ECDSAWithSHA384
		nameRSA, nameECDSA = "1.2.840.113549.1.1.12", "1.2.840.10045.4.3.3"
	case "2.16.840.1.101.3.4.2.3":
		hash, forRSA, forECDSA = crypto.SHA512, x509.SHA512WithRSA, x509.ECDSAWithSHA512
		nameRSA, nameECDSA = "1.2.840.113549.1.1.13", "1.2.840.10045.4.3.4"
	default:
		return 0, 0, errAlgorithm
	}
	_, isRSA := signer.PublicKey.(*rsa.PublicKey)
	switch name := info.Algorithm.Algorithm; {
	case isRSA && (name.Equal(oidRSA()) || name.String() == nameRSA):
		return hash, forRSA, nil
	case !isRSA && name.String() == nameECDSA:
		return hash, forECDSA, nil
	}
	return 0, 0, errAlgorithm
}

// signedOctets are what the signature was made over: the signed attributes,
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
