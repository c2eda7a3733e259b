// Package jwe encrypts the data of events for the receivers of a subscription, as JWE in compact serialization (RFC 7516): for keys of
// ECDH-ES+A256KW or RSA-OAEP-256, with A256GCM.
//
// Encrypting the same data of the same event for the same key gives the same bytes at every attempt, on every node: a receiver that compares what
// comes with an Idempotency-Key sees a repeat and not other content (IDEM-11). What is random in a JWE is derived for that from a secret of the
// subscription, from the key and from the data, so that no two contents share a key of A256GCM. Plain data never leaves in place of what
// cannot be encrypted.
//
// It hides data; it does not prove who encrypted it. For that requests are signed.
package jwe

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// MediaType is the type of encrypted data.
const MediaType = "application/jose"

// header is the protected header of a JWE.
type header struct {
	Alg string          `json:"alg"`
	Enc string          `json:"enc"`
	KID string          `json:"kid,omitempty"`
	CTY string          `json:"cty,omitempty"`
	EPK json.RawMessage `json:"epk,omitempty"`
}

// Encrypt encrypts data of a media type. seed is a secret of the recipient's subscription and id names what the data belongs to; the same
// input gives the same bytes.
func (k Key) Encrypt(seed []byte, id, mediaType string, data []byte) ([]byte, error) {
	if len(seed) < 32 {
		return nil, errors.New("encrypt: the seed is shorter than 32 bytes")
	}
	random, err := k.source(seed, id, mediaType, data)
	if err != nil {
		return nil, err
	}
	content, iv := make([]byte, 32), make([]byte, 12)
	if err := errors.Join(random.fill("content", content), random.fill("iv", iv)); err != nil {
		return nil, err
	}
	head := header{Alg: k.alg, Enc: "A256GCM", KID: k.ID, CTY: mediaType}
	wrapped, err := k.wrap(random, &head, content)
	if err != nil {
		return nil, fmt.Errorf("encrypt key: %w", err)
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	block, err := aes.NewCipher(content)
	if err != nil {
		return nil, fmt.Errorf("encrypt data: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("encrypt data: %w", err)
	}
	enc := base64.RawURLEncoding
	out := make([]byte, 0, enc.EncodedLen(len(text)+len(wrapped)+len(data)+len(iv)+aead.Overhead())+16)
	out = enc.AppendEncode(out, text)
	sealed := aead.Seal(make([]byte, 0, len(data)+aead.Overhead()), iv, data, out)
	for _, part := range [][]byte{wrapped, iv, sealed[:len(data)], sealed[len(data):]} {
		out = enc.AppendEncode(append(out, '.'), part)
	}
	return out, nil
}

// wrap encrypts the key of the content.
func (k Key) wrap(random source, head *header, content []byte) ([]byte, error) {
	if k.rsa != nil {
		return rsa.EncryptOAEP(sha256.New(), random.reader("oaep"), k.rsa, content, nil)
	}
	private, err := random.private(k.ec.Curve())
	if err != nil {
		return nil, err
	}
	shared, err := private.ECDH(k.ec)
	if err != nil {
		return nil, fmt.Errorf("agree on a key: %w", err)
	}
	if head.EPK, err = publicJWK(private.PublicKey()); err != nil {
		return nil, err
	}
	return keyWrap(concatKDF(shared, k.alg), content)
}

// source derives what is random in a JWE.
type source struct{ secret []byte }

func (k Key) source(seed []byte, id, mediaType string, data []byte) (source, error) {
	sum := sha256.Sum256(data)
	about := k.thumbprint + " " + k.ID + " " + strconv.Itoa(len(id)) + " " + id + " " + mediaType + " "
	secret, err := hkdf.Extract(sha256.New, seed, append([]byte(about), sum[:]...))
	return source{secret}, err
}

func (s source) fill(name string, to []byte) error {
	made, err := hkdf.Expand(sha256.New, s.secret, "schakel jwe "+name, len(to))
	copy(to, made)
	return err
}

// reader gives bytes derived for one use.
func (s source) reader(name string) *derived { return &derived{source: s, name: name} }

type derived struct {
	source
	name string
	n    int
}

func (d *derived) Read(to []byte) (int, error) {
	d.n++
	return len(to), d.fill(d.name+" "+strconv.Itoa(d.n), to)
}

// private derives a private key of a curve. About one candidate in four thousand million is not a scalar of P-256 or P-384.
func (s source) private(curve ecdh.Curve) (*ecdh.PrivateKey, error) {
	size := map[ecdh.Curve]int{ecdh.P256(): 32, ecdh.P384(): 48, ecdh.P521(): 66}[curve]
	raw, random := make([]byte, size), s.reader("ephemeral")
	for range 256 {
		if _, err := random.Read(raw); err != nil {
			return nil, err
		}
		if curve == ecdh.P521() {
			raw[0] &= 1
		}
		if key, err := curve.NewPrivateKey(raw); err == nil {
			return key, nil
		}
	}
	return nil, errors.New("no private key could be derived")
}

// concatKDF derives the key that wraps from a shared secret (RFC 7518, 4.6.2), without apu and apv.
func concatKDF(shared []byte, alg string) []byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint32(nil, 1))
	h.Write(shared)
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(alg)))) // #nosec G115 -- the name of an algorithm
	h.Write([]byte(alg))
	h.Write(make([]byte, 8)) // empty apu and apv
	h.Write(binary.BigEndian.AppendUint32(nil, 256))
	return h.Sum(nil)
}

// keyWrap wraps a key with AES (RFC 3394).
func keyWrap(with, key []byte) ([]byte, error) {
	block, err := aes.NewCipher(with)
	if err != nil {
		return nil, err
	}
	out := append([]byte{0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6, 0xa6}, key...)
	var buf [16]byte
	n := uint64(len(key) / 8)
	for t := uint64(1); t <= 6*n; t++ {
		r := out[8*((t-1)%n+1):][:8]
		copy(buf[:8], out[:8])
		copy(buf[8:], r)
		block.Encrypt(buf[:], buf[:])
		subtle.XORBytes(out[:8], buf[:8], binary.BigEndian.AppendUint64(nil, t))
		copy(r, buf[8:])
	}
	return out, nil
}

// Size bounds the length of what Encrypt makes of data of a length, for any key that is taken.
func Size(data int) int { return base64.RawURLEncoding.EncodedLen(data) + maxOverhead }

// maxOverhead is of the header with a long kid and cty, and of a key of RSA of 8192 bits.
const maxOverhead = 3 << 10
