package cms

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
)

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

// certificateID names a certificate in a message: by issuer and serial
// number, or by its subject key identifier.
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
