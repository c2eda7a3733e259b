// Package passkey checks what browsers answer for passkeys (WebAuthn level 2), as a second factor.
//
// A passkey is registered without attestation: whoever is logged in may bring any authenticator, so nothing proves its make. That
// leaves no CBOR to read, because browsers give the public key as PKIX. Answers are bound to our origin, to the relying party, and to
// a challenge that the caller made and takes once. Of an authenticator that counts its signatures, a count that does not grow is
// refused: the key was copied. The library go-webauthn does all this and attestations, and made the program 6.6 MB larger.
package passkey

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// Site names the relying party that passkeys are bound to.
type Site struct {
	ID     string // the relying party: the host name
	Origin string // scheme, host and port
	Name   string // for people
}

// SiteOf is the site at an address.
func SiteOf(base, name string) (Site, error) {
	u, err := url.Parse(base)
	if err != nil {
		return Site{}, fmt.Errorf("address of the portal: %w", err)
	}
	return Site{ID: u.Hostname(), Origin: u.Scheme + "://" + u.Host, Name: name}, nil
}

// Key is a passkey as it is kept. All texts are base64url without padding.
type Key struct {
	ID     string
	Public string // PKIX
	Count  int64  // of its signatures; 0 when it does not count
}

// Challenge makes what an authenticator signs, once.
func Challenge() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails: the runtime stops the program instead
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Algorithms we take, as COSE numbers them.
const (
	es256 = -7
	eddsa = -8
	rs256 = -257
)

type descriptor struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func descriptors(ids []string) []descriptor {
	list := []descriptor{}
	for _, id := range ids {
		list = append(list, descriptor{"public-key", id})
	}
	return list
}

// timeout bounds how long a browser waits for its user, in milliseconds.
const timeout = 300_000

// CreateOptions are the options with which a browser makes a passkey, as JSON. Authenticators that have one of the known keys make no other.
func (s Site) CreateOptions(challenge, userID, userName, displayName string, known []string) string {
	type parameter struct {
		Type string `json:"type"`
		Alg  int    `json:"alg"`
	}
	return written(map[string]any{
		"challenge": challenge, "rp": map[string]string{"id": s.ID, "name": s.Name},
		"user":             map[string]string{"id": base64.RawURLEncoding.EncodeToString([]byte(userID)), "name": userName, "displayName": displayName},
		"pubKeyCredParams": []parameter{{"public-key", es256}, {"public-key", eddsa}, {"public-key", rs256}},
		"timeout":          timeout, "attestation": "none", "excludeCredentials": descriptors(known),
		"authenticatorSelection": map[string]string{"residentKey": "discouraged", "userVerification": "preferred"},
	})
}

// GetOptions are the options with which a browser signs with one of the keys, as JSON.
func (s Site) GetOptions(challenge string, keys []string) string {
	return written(map[string]any{
		"challenge": challenge, "rpId": s.ID, "timeout": timeout, "allowCredentials": descriptors(keys), "userVerification": "preferred",
	})
}

func written(options map[string]any) string {
	text, err := json.Marshal(options)
	if err != nil {
		panic(err) // there is nothing in it that cannot be written
	}
	return string(text)
}

// answer holds the parts of a credential that the script of the portal sends; its texts are base64url without padding.
type answer struct {
	ID         string `json:"id"`
	ClientData string `json:"clientData"`
	AuthData   string `json:"authData"`
	PublicKey  string `json:"publicKey"` // of a new one
	Signature  string `json:"signature"` // of one that is used
}

// ErrRefused says that an answer proves nothing; the error that wraps it says why, for the log.
var ErrRefused = errors.New("passkey refused")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// read checks the parts that all answers share, and gives the bytes that a signature is over and the count of signatures.
func (s Site) read(text, kind, challenge string) (in answer, signed []byte, auth []byte, err error) {
	if challenge == "" || json.Unmarshal([]byte(text), &in) != nil {
		return in, nil, nil, refused("no answer to a challenge")
	}
	clientData, err1 := base64.RawURLEncoding.DecodeString(in.ClientData)
	auth, err2 := base64.RawURLEncoding.DecodeString(in.AuthData)
	var client struct {
		Type, Challenge, Origin string
		CrossOrigin             bool
	}
	if err := errors.Join(err1, err2, json.Unmarshal(clientData, &client)); err != nil {
		return in, nil, nil, refused("%v", err)
	}
	if client.Type != kind || client.Challenge != challenge || client.Origin != s.Origin || client.CrossOrigin {
		return in, nil, nil, refused("it is for %s at %s", client.Type, client.Origin)
	}
	party := sha256.Sum256([]byte(s.ID))
	if len(auth) < authDataSize || !bytes.Equal(auth[:32], party[:]) {
		return in, nil, nil, refused("it is for another relying party")
	}
	if auth[32]&userPresent == 0 {
		return in, nil, nil, refused("nobody touched the authenticator")
	}
	sum := sha256.Sum256(clientData)
	return in, append(bytes.Clone(auth), sum[:]...), auth, nil
}

// Of the data of an authenticator: its size without a key, and the bits of its flags (byte 32). The count is in the bytes behind those.
const (
	authDataSize = 37
	userPresent  = 1 << 0
	hasKey       = 1 << 6
)

func countOf(auth []byte) int64 { return int64(binary.BigEndian.Uint32(auth[33:37])) }

// Register reads what a browser made with CreateOptions.
func (s Site) Register(text, challenge string) (Key, error) {
	in, _, auth, err := s.read(text, "webauthn.create", challenge)
	if err != nil {
		return Key{}, err
	}
	id, err := base64.RawURLEncoding.DecodeString(in.ID)
	if err != nil || auth[32]&hasKey == 0 || len(auth) < authDataSize+18 {
		return Key{}, refused("no key in it")
	}
	rest := auth[authDataSize+16:] // behind the model of the authenticator
	n := int(binary.BigEndian.Uint16(rest))
	if n == 0 || n > 1023 || len(rest) < 2+n || !bytes.Equal(rest[2:2+n], id) {
		return Key{}, refused("its id is another one")
	}
	key := Key{ID: in.ID, Public: in.PublicKey, Count: countOf(auth)}
	_, err = key.public()
	return key, err
}

func (k Key) public() (crypto.PublicKey, error) {
	der, err := base64.RawURLEncoding.DecodeString(k.Public)
	if err != nil {
		return nil, refused("%v", err)
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, refused("%v", err)
	}
	switch key := public.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return nil, refused("curve %s", key.Curve.Params().Name)
		}
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 {
			return nil, refused("RSA of %d bits", key.N.BitLen())
		}
	default:
		return nil, refused("a key of type %T", public)
	}
	return public, nil
}

// KeyOf names the key that an answer is signed with; empty when there is none in it.
func KeyOf(text string) string {
	var in answer
	_ = json.Unmarshal([]byte(text), &in)
	return in.ID
}

// Verify checks what a browser signed with GetOptions and one key, and gives the count of signatures now.
func (s Site) Verify(text, challenge string, key Key) (count int64, err error) {
	in, signed, auth, err := s.read(text, "webauthn.get", challenge)
	if err != nil {
		return 0, err
	}
	if in.ID != key.ID {
		return 0, refused("it is of another key")
	}
	signature, err := base64.RawURLEncoding.DecodeString(in.Signature)
	if err != nil {
		return 0, refused("%v", err)
	}
	public, err := key.public()
	if err != nil {
		return 0, err
	}
	sum, good := sha256.Sum256(signed), false
	switch public := public.(type) {
	case ed25519.PublicKey:
		good = ed25519.Verify(public, signed, signature)
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(public, sum[:], signature)
	case *rsa.PublicKey:
		good = rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature) == nil
	}
	if !good {
		return 0, refused("the signature does not fit")
	}
	count = countOf(auth)
	if (count != 0 || key.Count != 0) && count <= key.Count {
		return 0, refused("its count went from %d to %d: the key was copied", key.Count, count)
	}
	return count, nil
}
