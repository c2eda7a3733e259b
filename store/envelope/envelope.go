// Package envelope encrypts values with AES-256-GCM, each under a key of its own that is derived from a data key and a random nonce of 24
// bytes: XAES-256-GCM, as C2SP specifies it. So one data key may encrypt any number of values: random nonces of GCM alone, of 12 bytes, would
// begin to repeat after some billions.
//
// An encrypted value is the nonce, the ciphertext and a tag of 16 bytes. It opens only for the place it was encrypted for. It does not hide
// how long the value is.
package envelope

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
)

const (
	// KeySize is the length of a data key, in bytes.
	KeySize   = 32
	nonceSize = 24
	half      = nonceSize / 2
	tagSize   = 16
	// Overhead is the length that encryption adds to a value, in bytes.
	Overhead = nonceSize + tagSize
)

// ErrDamaged is returned for what does not open: it was changed, or encrypted with another key or for another place.
var ErrDamaged = errors.New("encrypted data is damaged, or belongs elsewhere")

// Key is a data key. It is safe for concurrent use.
type Key struct {
	block cipher.Block
	mask  [aes.BlockSize]byte // of the derivation of keys
}

// NewKey makes the bytes of a data key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails: the runtime stops the program instead
	return key
}

// New makes a Key of its bytes.
func New(key []byte) (*Key, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("data key: want %d bytes, got %d", KeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("data key: %w", err)
	}
	k := &Key{block: block}
	block.Encrypt(k.mask[:], k.mask[:])
	carry := k.mask[0] >> 7
	for i := range k.mask[:len(k.mask)-1] {
		k.mask[i] = k.mask[i]<<1 | k.mask[i+1]>>7
	}
	last := len(k.mask) - 1
	k.mask[last] <<= 1
	k.mask[last] ^= carry * 0x87
	return k, nil
}

// Seal encrypts a value for a place.
func (k *Key) Seal(plain, place []byte) []byte {
	sealed := make([]byte, nonceSize, len(plain)+Overhead)
	_, _ = rand.Read(sealed)
	return k.derived(sealed[:half]).Seal(sealed, sealed[half:nonceSize], plain, place)
}

// Open decrypts what Seal made for the same place; anything else is ErrDamaged.
func (k *Key) Open(sealed, place []byte) ([]byte, error) {
	if len(sealed) < Overhead {
		return nil, ErrDamaged
	}
	plain, err := k.derived(sealed[:half]).Open(nil, sealed[half:nonceSize], sealed[nonceSize:], place)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// derived makes the cipher of one value from the first half of its nonce.
func (k *Key) derived(nonce []byte) cipher.AEAD {
	var key [KeySize]byte
	for i := range 2 {
		part := key[i*aes.BlockSize : (i+1)*aes.BlockSize]
		part[1], part[2] = byte(i+1), 'X'
		copy(part[4:], nonce)
		subtle.XORBytes(part, part, k.mask[:])
		k.block.Encrypt(part, part)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("a key of 32 bytes is refused: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("AES without GCM: " + err.Error())
	}
	return aead
}
