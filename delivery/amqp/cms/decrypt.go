package cms

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" // #nosec G502 -- parties still send Triple DES, which the operator can refuse
	"crypto/subtle"
	"encoding/asn1"
)

type bulkCipher struct {
	name    string
	keySize int // octets
	make    func(key []byte) (cipher.Block, error)
	open    func(content sealedContent, block cipher.Block) ([]byte, error)
}

// bulkCipherOf knows AES-GCM, AES-CBC and, for old senders, Triple DES. Single DES and RC2 are not read. What authenticates its
// content comes in AuthEnvelopedData alone, and what does not in EnvelopedData.
func bulkCipherOf(id asn1.ObjectIdentifier, authenticated bool) (bulkCipher, bool) {
	name := id.String()
	if authenticated {
		switch name {
		case "2.16.840.1.101.3.4.1.6":
			return bulkCipher{ContentAESGCM, 16, aes.NewCipher, decryptGCM}, true
		case "2.16.840.1.101.3.4.1.26":
			return bulkCipher{ContentAESGCM, 24, aes.NewCipher, decryptGCM}, true
		case "2.16.840.1.101.3.4.1.46":
			return bulkCipher{ContentAESGCM, 32, aes.NewCipher, decryptGCM}, true
		}
		return bulkCipher{}, false
	}
	switch name {
	case "2.16.840.1.101.3.4.1.2":
		return bulkCipher{ContentAESCBC, 16, aes.NewCipher, decryptCBC}, true
	case "2.16.840.1.101.3.4.1.22":
		return bulkCipher{ContentAESCBC, 24, aes.NewCipher, decryptCBC}, true
	case "2.16.840.1.101.3.4.1.42":
		return bulkCipher{ContentAESCBC, 32, aes.NewCipher, decryptCBC}, true
	case "1.2.840.113549.3.7":
		return bulkCipher{ContentTripleDES, 24, des.NewTripleDESCipher, decryptCBC}, true
	}
	return bulkCipher{}, false
}

// decrypt gives the plain content. The error is ErrKey, one about what stands in the clear, or errUnreadable for all that
// depends on the key: neither the answer nor what is done tells a wrong padding from a wrong key or a wrong tag.
func (l Limits) decrypt(content sealedContent, sent keyTransport, key crypto.PrivateKey) ([]byte, error) {
	bulk, ok := bulkCipherOf(content.Algorithm.Algorithm, content.authenticated)
	if !ok {
		return nil, unknownAlgorithm(content.Algorithm.Algorithm.String() + " for the content")
	}
	options, names, err := keyOptions(sent.Algorithm, bulk.keySize)
	if err != nil {
		return nil, err
	}
	if err := l.reject(append(names, bulk.name)...); err != nil {
		return nil, err
	}
	secret, err := contentKey(sent.Key, key, options, bulk.keySize)
	if err != nil {
		return nil, err
	}
	block, err := bulk.make(secret)
	if err != nil {
		return nil, errUnreadable
	}
	return bulk.open(content, block)
}

func decryptCBC(content sealedContent, block cipher.Block) ([]byte, error) {
	iv := content.Algorithm.Parameters
	sealed, err := octets(content.Content)
	if err != nil || iv.Tag != asn1.TagOctetString || iv.Class != asn1.ClassUniversal || len(iv.Bytes) != block.BlockSize() ||
		len(sealed) == 0 || len(sealed)%block.BlockSize() != 0 {
		return nil, errUnreadable
	}
	plain := make([]byte, len(sealed))
	cipher.NewCBCDecrypter(block, iv.Bytes).CryptBlocks(plain, sealed)
	padding, ok := paddingOf(plain[len(plain)-block.BlockSize():])
	if !ok {
		return nil, errUnreadable
	}
	return plain[:len(plain)-padding], nil
}

// octets gives an implicitly tagged octet string, put together from its pieces
// where the writer did not know the length beforehand.
func octets(raw asn1.RawValue) ([]byte, error) {
	if !raw.IsCompound {
		return raw.Bytes, nil
	}
	out := make([]byte, 0, len(raw.Bytes))
	for rest := raw.Bytes; len(rest) > 0; {
		h, err := readHead(rest)
		if err != nil || h.tag != tagOctets {
			return nil, errASN1
		}
		out = append(out, rest[h.size:h.size+h.length]...)
		rest = rest[h.size+h.length:]
	}
	return out, nil
}

// paddingOf gives the number of octets of padding at the end of the last block, in the same time for every block.
func paddingOf(last []byte) (int, bool) {
	size := len(last)
	padding := int(last[size-1])
	good := subtle.ConstantTimeLessOrEq(1, padding) & subtle.ConstantTimeLessOrEq(padding, size)
	for i := range size {
		inside := subtle.ConstantTimeLessOrEq(i+1, padding)
		same := subtle.ConstantTimeByteEq(last[size-1-i], byte(padding))
		good &= same | (inside ^ 1)
	}
	return padding, good == 1
}

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
