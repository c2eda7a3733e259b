package cms

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"

	"schakel/delivery/amqp/certs"
)

// maxCertificates limits the certificates in a signed message.
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

// Verify checks an encapsulated signature (AMQP-66, AMQP-68) and that it was
// made with one of the wanted certificates, of the sender in
// the address registry (AMQP-72). The error is a *Failure of the kinds
// InvalidCMS or InvalidSignature; with ErrOtherSigner the Signer is given, but
// not the Content.
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

// Unseal opens and then verifies (AMQP-67). Content that is no signed message
// once it is decrypted is DecryptionFailed, like every other trouble with
// decryption: a wrong key may well give octets with a padding that fits.
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

// signerOf finds the certificate of the one signer.
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
