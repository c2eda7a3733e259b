package cms

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/subtle"
	"encoding/asn1"
)

// bulkCipher is an algorithm that content may be encrypted with.
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

// paddingOf gives the number of octets of padding at the end of the last block,
// in the same time for every block.
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
