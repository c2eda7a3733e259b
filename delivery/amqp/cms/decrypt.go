package cms

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/asn1"
)

// bulkCipher is an algorithm that content may be encrypted with.
type bulkCipher struct {
	keySize int // octets
	make    func(key []byte) (cipher.Block, error)
}

// bulkCipherOf knows AES-CBC and, for old senders, Triple DES. Single DES and
// RC2 are not read.
func bulkCipherOf(id asn1.ObjectIdentifier) (bulkCipher, bool) {
	switch id.String() {
	case "2.16.840.1.101.3.4.1.2":
		return bulkCipher{16, aes.NewCipher}, true
	case "2.16.840.1.101.3.4.1.22":
		return bulkCipher{24, aes.NewCipher}, true
	case "2.16.840.1.101.3.4.1.42":
		return bulkCipher{32, aes.NewCipher}, true
	case "1.2.840.113549.3.7":
		return bulkCipher{24, des.NewTripleDESCipher}, true
	}
	return bulkCipher{}, false
}

// decrypt gives the plain content. A content key with a wrong padding is
// replaced by a random one and used, so that neither the answer nor the time
// it takes tells them apart. The error is ErrKey or errUnreadable.
func decrypt(content encryptedContent, sent keyTransport, key crypto.PrivateKey) ([]byte, error) {
	decrypter, ok := key.(crypto.Decrypter)
	if !ok {
		return nil, ErrKey
	}
	if _, ok := decrypter.Public().(*rsa.PublicKey); !ok {
		return nil, ErrKey
	}
	bulk, ok := bulkCipherOf(content.Algorithm.Algorithm)
	if !ok || !sent.Algorithm.Algorithm.Equal(oidRSA()) {
		return nil, errUnreadable
	}
	//lint:ignore SA1019 the profile's parties write no other padding, and a wrong one is not told
	secret, err := decrypter.Decrypt(rand.Reader, sent.Key, &rsa.PKCS1v15DecryptOptions{SessionKeyLen: bulk.keySize})
	if err != nil {
		return nil, errUnreadable
	}
	block, err := bulk.make(secret)
	if err != nil {
		return nil, errUnreadable
	}
	return decryptCBC(content, block)
}

func decryptCBC(content encryptedContent, block cipher.Block) ([]byte, error) {
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
