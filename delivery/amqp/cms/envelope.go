package cms

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
)

// ErrRecipient reports that a certificate has no RSA key to encrypt for.
var ErrRecipient = errors.New("the recipient's certificate has no RSA key")

// Envelope encrypts for one recipient with AES-256-CBC and RSA PKCS#1 v1.5
// (AMQP-70). signed is not changed.
func Envelope(signed []byte, recipient *x509.Certificate) ([]byte, error) {
	return envelope(encoded(signed), recipient)
}

// Seal signs content and encrypts the signed message, in that order (AMQP-67,
// AMQP-71). It needs the memory of one message, for the answer.
func Seal(content []byte, signer Identity, recipient *x509.Certificate) ([]byte, error) {
	signed, err := sign(content, signer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return envelope(signed, recipient)
}

func envelope(plain element, recipient *x509.Certificate) ([]byte, error) {
	const keySize = 32
	secret := make([]byte, keySize+aes.BlockSize)
	rand.Read(secret) // it never fails
	key, iv := secret[:keySize], secret[keySize:]
	padding := aes.BlockSize - plain.size()%aes.BlockSize
	outer, err := envelopeAround(plain.size()+padding, key, iv, recipient)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	out := outer.appendTo(make([]byte, 0, outer.size()))
	start := len(out)
	out = plain.appendTo(out)
	for range padding {
		out = append(out, byte(padding))
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(out[start:], out[start:])
	return out, nil
}

// envelopeAround is an EnvelopedData with a hole at its end for size octets of ciphertext.
func envelopeAround(size int, key, iv []byte, recipient *x509.Certificate) (element, error) {
	if recipient == nil {
		return element{}, ErrRecipient
	}
	public, ok := recipient.PublicKey.(*rsa.PublicKey)
	if !ok {
		return element{}, ErrRecipient
	}
	//nolint:staticcheck // SA1019: the profile's parties read no other padding
	wrapped, err := rsa.EncryptPKCS1v15(rand.Reader, public, key)
	if err != nil {
		return element{}, err
	}
	transport := constructed(
		tagSequence,
		primitive(tagInteger, []byte{0}),
		nameOf(recipient),
		constructed(tagSequence, object(oidRSA()), primitive(tagNull, nil)),
		primitive(tagOctets, wrapped),
	)
	encrypted := constructed(
		tagSequence,
		object(oidData()),
		constructed(tagSequence, object(oidAES256CBC()), primitive(tagOctets, iv)),
		element{tag: tagImplicit, hole: size},
	)
	return wrap(oidEnvelopedData(), constructed(
		tagSequence,
		primitive(tagInteger, []byte{0}),
		constructed(tagSet, transport),
		encrypted,
	)), nil
}
