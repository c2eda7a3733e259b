package registry

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"schakel/store"
)

// vaultKeySize is the length of the key, in bytes: AES-256.
const vaultKeySize = 32

// vaultSetting holds a value sealed with the key that is in use, so that another key is noticed at start.
const vaultSetting = "vault_check"

// ErrWrongKey says that secrets were sealed with another key than this one.
var ErrWrongKey = errors.New("the key does not fit the stored secrets: use the key that this database was made with")

// Vault seals secrets before they are stored (AES-256-GCM) and opens them again. A sealed text names its key, and opens only for
// the purpose it was sealed for. Losing the key means losing the secrets, so it belongs in the backup.
//
// It may know several keys: it seals with the one that is in use, which the database names, and opens what any of them sealed. It is
// safe for concurrent use, also while another key comes into use.
type Vault struct {
	source KeySource
	state  atomic.Pointer[vaultState]
}

// vaultState is immutable.
type vaultState struct {
	keys   map[string]vaultKey // by id
	inUse  vaultKey
	before [][]byte // the proof keys of the keys that were in use before, oldest first
}

// vaultKey is one key.
type vaultKey struct {
	id    string
	aead  cipher.AEAD
	proof []byte // key of Prove, derived from the key
}

func newVaultKey(key []byte) (vaultKey, error) {
	if len(key) != vaultKeySize {
		return vaultKey{}, fmt.Errorf("secret key: want %d bytes, got %d", vaultKeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return vaultKey{}, fmt.Errorf("secret key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return vaultKey{}, fmt.Errorf("secret key: %w", err)
	}
	proof := sha256.Sum256(append([]byte("schakel vault proof\x00"), key...))
	return vaultKey{id: KeyID(key), aead: aead, proof: proof[:]}, nil
}

// KeyID names a key, without telling anything of it: 8 hexadecimal digits.
func KeyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("schakel vault key id\x00"), key...))
	return hex.EncodeToString(sum[:4])
}

// NewKey makes a key.
func NewKey() []byte {
	key := make([]byte, vaultKeySize)
	_, _ = rand.Read(key) // never fails: the runtime stops the program instead
	return key
}

// VaultFromKey makes a vault of keys of 32 bytes that are kept elsewhere. Until Check says otherwise, the first is in use.
func VaultFromKey(keys ...[]byte) (*Vault, error) {
	v := &Vault{}
	return v, v.learn(keys)
}

// learn adds keys. The first of a vault that had none comes into use.
func (v *Vault) learn(keys [][]byte) error {
	s := &vaultState{keys: map[string]vaultKey{}}
	if old := v.state.Load(); old != nil {
		s.inUse, s.before = old.inUse, old.before
		maps.Copy(s.keys, old.keys)
	}
	for _, key := range keys {
		made, err := newVaultKey(key)
		if err != nil {
			return err
		}
		s.keys[made.id] = made
		if s.inUse.id == "" {
			s.inUse = made
		}
	}
	if s.inUse.id == "" {
		return errors.New("secret key: there is none")
	}
	v.state.Store(s)
	return nil
}

// ID names the key that is in use, without telling anything of it.
func (v *Vault) ID() string { return v.state.Load().inUse.id }

// KeyIDs names all keys that the vault can open with, in order of their names.
func (v *Vault) KeyIDs() []string { return slices.Sorted(maps.Keys(v.state.Load().keys)) }

// Source returns the source of the keys.
func (v *Vault) Source() KeySource { return v.source }

// Seal encrypts a secret for one purpose, such as "endpoint-token-secret".
func (v *Vault) Seal(purpose string, plain []byte) string {
	return v.state.Load().inUse.seal(purpose, plain)
}

func (k vaultKey) seal(purpose string, plain []byte) string {
	return "v1." + k.id + "." + base64.RawURLEncoding.EncodeToString(k.aead.Seal(nil, nil, plain, []byte(purpose))) // #nosec G407 -- the AEAD makes its nonce at random
}

// Open decrypts what Seal made for the same purpose. It answers ErrWrongKey for what another key sealed.
func (v *Vault) Open(purpose, sealed string) ([]byte, error) {
	id, text, ok := strings.Cut(strings.TrimPrefix(sealed, "v1."), ".")
	if !ok || !strings.HasPrefix(sealed, "v1.") {
		return nil, errors.New("open secret: not a sealed text")
	}
	key, ok := v.state.Load().keys[id]
	if !ok {
		return nil, fmt.Errorf("open secret: %w", ErrWrongKey)
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("open secret: %w", err)
	}
	plain, err := key.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return nil, errors.New("open secret: it was damaged, or sealed for something else")
	}
	return plain, nil
}

// SealKey is [Vault.Seal] for a private key, as PKCS #8.
func (v *Vault) SealKey(purpose string, key crypto.Signer) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return v.Seal(purpose, der), Wrap("write private key", err)
}

// OpenKey opens what SealKey made for the same purpose.
func (v *Vault) OpenKey(purpose, sealed string) (crypto.Signer, error) {
	der, err := v.Open(purpose, sealed)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("this kind of key cannot sign")
	}
	return signer, nil
}

// SealBytes is [Vault.Seal] for what is large and stored as bytes, without the third that base64 adds.
func (v *Vault) SealBytes(purpose string, plain []byte) []byte {
	key := v.state.Load().inUse
	return key.aead.Seal([]byte("b1."+key.id+"."), nil, plain, []byte(purpose)) // #nosec G407 -- the AEAD makes its nonce at random
}

// OpenBytes decrypts what SealBytes made for the same purpose. It answers ErrWrongKey for what another key sealed.
func (v *Vault) OpenBytes(purpose string, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte("b1."))
	id, raw, there := bytes.Cut(rest, []byte("."))
	if !ok || !there {
		return nil, errors.New("open sealed bytes: they are not sealed")
	}
	key, ok := v.state.Load().keys[string(id)]
	if !ok {
		return nil, fmt.Errorf("open sealed bytes: %w", ErrWrongKey)
	}
	plain, err := key.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return nil, errors.New("open sealed bytes: they were damaged, or sealed for something else")
	}
	return plain, nil
}

// Check answers ErrWrongKey when the database's secrets were sealed with a key that the vault does not have, brings the right one into use,
// and ties a new database to this one. Call it at start.
func (v *Vault) Check(ctx context.Context, db *store.DB) error {
	err := db.Write(ctx, func(tx *store.Tx) error {
		sealed, err := tx.Setting(ctx, vaultSetting)
		if err != nil {
			return err
		}
		if sealed == "" {
			return tx.SetSetting(ctx, vaultSetting, v.Seal(vaultSetting, []byte("schakel")))
		}
		_, err = v.follow(ctx, &tx.Queries, sealed)
		return err
	})
	return Wrap("check secret key", err)
}

// StoredKeyID names the key that the secrets of a database are sealed with; empty when it was never tied to one.
func StoredKeyID(ctx context.Context, db *store.DB) (string, error) {
	sealed, err := db.Setting(ctx, vaultSetting)
	return sealedWith(sealed), Wrap("read key id", err)
}

// sealedWith names the key of a sealed text; empty for any other text.
func sealedWith(sealed string) string {
	rest, ok := strings.CutPrefix(sealed, "v1.")
	id, _, there := strings.Cut(rest, ".")
	if !ok || !there {
		return ""
	}
	return id
}
