package cms

import (
	"crypto/cipher"
	"encoding/asn1"
)

func oidAuthEnvelopedData() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 23}
}

// authEnvelopedData is the AuthEnvelopedData of RFC 5083.
type authEnvelopedData struct {
	Version    int
	Originator asn1.RawValue   `asn1:"optional,tag:0"`
	Recipients []asn1.RawValue `asn1:"set"`
	Encrypted  encryptedContent
	Attributes asn1.RawValue `asn1:"optional,tag:1"` // authenticated
	MAC        []byte
	Others     asn1.RawValue `asn1:"optional,tag:2"` // not authenticated
}

// sealedContent is encrypted content with what authenticates it.
type sealedContent struct {
	encryptedContent

	authenticated bool // it is of an AuthEnvelopedData
	attributes    asn1.RawValue
	mac           []byte
}

// gcmParameters are GCMParameters of RFC 5084.
type gcmParameters struct {
	Nonce []byte
	Size  int `asn1:"optional,default:12"` // octets of the tag
}

// Sizes of AES-GCM that are read.
const (
	gcmNonce  = 12
	gcmTag    = 16
	gcmMinTag = 12
)

// decryptGCM decrypts and authenticates in one. Whatever is wrong, nothing of the content is given.
func decryptGCM(content sealedContent, block cipher.Block) ([]byte, error) {
	var p gcmParameters
	if err := unmarshal(content.Algorithm.Parameters.FullBytes, &p); err != nil {
		return nil, errUnreadable
	}
	if p.Size != len(content.mac) {
		return nil, errUnreadable
	}
	sealed, err := octets(content.Content)
	if err != nil {
		return nil, errUnreadable
	}
	extra, err := content.authenticatedOctets()
	if err != nil {
		return nil, errUnreadable
	}
	aead, err := gcmOf(block, p)
	if err != nil {
		return nil, errUnreadable
	}
	whole := make([]byte, 0, len(sealed)+len(content.mac))
	whole = append(append(whole, sealed...), content.mac...)
	plain, err := aead.Open(whole[:0], p.Nonce, whole, extra)
	if err != nil {
		return nil, errUnreadable
	}
	return plain, nil
}

// gcmOf makes the cipher for the sizes that the parameters name. A short tag is taken with the usual nonce alone.
func gcmOf(block cipher.Block, p gcmParameters) (cipher.AEAD, error) {
	switch {
	case len(p.Nonce) == gcmNonce && p.Size >= gcmMinTag && p.Size <= gcmTag:
		return cipher.NewGCMWithTagSize(block, p.Size)
	case p.Size == gcmTag && len(p.Nonce) > 0 && len(p.Nonce) <= 64:
		return cipher.NewGCMWithNonceSize(block, len(p.Nonce))
	}
	return nil, errUnreadable
}

// authenticatedOctets are the additional data: the authenticated attributes as a set, or nothing (RFC 5083, 2.2). A content
// type among them has to be that of the content.
func (c sealedContent) authenticatedOctets() ([]byte, error) {
	if len(c.attributes.FullBytes) == 0 {
		return nil, nil
	}
	set := append([]byte{tagSet}, c.attributes.FullBytes[1:]...)
	var attributes []attribute
	if _, err := asn1.UnmarshalWithParams(set, &attributes, "set"); err != nil {
		return nil, errASN1
	}
	for _, a := range attributes {
		if a.Type.Equal(oidContentType()) {
			kind, err := only(attributes, oidContentType())
			if err != nil || string(kind.FullBytes) != string(object(c.Type).raw) {
				return nil, errASN1
			}
		}
	}
	return set, nil
}
