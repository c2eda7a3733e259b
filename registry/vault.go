package registry

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"schakel/store"
)

// vaultKeySize is the length of the key, in bytes: AES-256.
const vaultKeySize = 32

// vaultSetting holds a sealed value, so that another key is noticed at start.
const vaultSetting = "vault_check"

// ErrWrongKey says that secrets were sealed with another key than this one.
var ErrWrongKey = errors.New("the key does not fit the stored secrets: use the key file this database was made with")

// Vault seals secrets before they are stored (AES-256-GCM) and opens them again. A sealed text names its key, and opens only for
// the purpose it was sealed for. Losing the key means losing the secrets, so it belongs in the backup.
type Vault struct {
	id    string
	aead  cipher.AEAD
	proof []byte // key of Prove, derived from that of the vault
}

// OpenVault reads the key from a file, one line of base64, and makes the file for its owner alone when there is none. It refuses
// a file that others can read and a symbolic link (EDU-02).
func OpenVault(path string) (*Vault, error) {
	key, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = createKeyFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return VaultFromKey(key)
}

// VaultFromKey makes a vault of a key of 32 bytes that is kept elsewhere.
func VaultFromKey(key []byte) (*Vault, error) {
	if len(key) != vaultKeySize {
		return nil, fmt.Errorf("secret key: want %d bytes, got %d", vaultKeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	sum := sha256.Sum256(append([]byte("schakel vault key id\x00"), key...))
	proof := sha256.Sum256(append([]byte("schakel vault proof\x00"), key...))
	return &Vault{id: hex.EncodeToString(sum[:4]), aead: aead, proof: proof[:]}, nil
}

// ReadVault is [OpenVault] for who must not make a key: a missing file is an error.
func ReadVault(path string) (*Vault, error) {
	key, err := readKeyFile(path)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return VaultFromKey(key)
}

// Prove makes a text that only who has this key can make, for one text such as a question. It tells nothing of the key.
func (v *Vault) Prove(text string) string {
	mac := hmac.New(sha256.New, v.proof)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Proves reports whether proof equals that of Prove for the text.
func (v *Vault) Proves(text, proof string) bool {
	return hmac.Equal([]byte(v.Prove(text)), []byte(proof))
}

// Seal encrypts a secret for one purpose, such as "endpoint-token-secret".
func (v *Vault) Seal(purpose string, plain []byte) string {
	sealed := v.aead.Seal(nil, nil, plain, []byte(purpose))
	return "v1." + v.id + "." + base64.RawURLEncoding.EncodeToString(sealed)
}

// Open decrypts what Seal made for the same purpose. It answers ErrWrongKey for what another key sealed.
func (v *Vault) Open(purpose, sealed string) ([]byte, error) {
	id, text, ok := strings.Cut(strings.TrimPrefix(sealed, "v1."), ".")
	if !ok || !strings.HasPrefix(sealed, "v1.") {
		return nil, errors.New("open secret: not a sealed text")
	}
	if id != v.id {
		return nil, fmt.Errorf("open secret: %w", ErrWrongKey)
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("open secret: %w", err)
	}
	plain, err := v.aead.Open(nil, nil, raw, []byte(purpose))
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

// Check answers ErrWrongKey when the database's secrets were sealed with another
// key, and ties a new database to this one. Call it at start.
func (v *Vault) Check(ctx context.Context, db *store.DB) error {
	err := db.Write(ctx, func(tx *store.Tx) error {
		sealed, err := tx.Setting(ctx, vaultSetting)
		if err != nil {
			return err
		}
		if sealed == "" {
			return tx.SetSetting(ctx, vaultSetting, v.Seal(vaultSetting, []byte("schakel")))
		}
		_, err = v.Open(vaultSetting, sealed)
		return err
	})
	return Wrap("check secret key", err)
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it must be a file, not a link or folder")
	}
	if err := CheckSecretFile(path); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(key) != vaultKeySize {
		return nil, fmt.Errorf("it must hold %d bytes as one line of base64", vaultKeySize)
	}
	return key, nil
}

// createKeyFile writes the key beside its place first and then links it there,
// so that a crash never leaves half a key and of two processes one wins.
func createKeyFile(path string) ([]byte, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key := make([]byte, vaultKeySize)
	_, _ = rand.Read(key) // never fails: the runtime stops the program instead
	f, err := os.CreateTemp(dir, ".key-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKeyFile(path)
}

// SealBytes is [Vault.Seal] for what is large and stored as bytes, without the third that base64 adds.
func (v *Vault) SealBytes(purpose string, plain []byte) []byte {
	head := []byte("b1." + v.id + ".")
	return v.aead.Seal(head, nil, plain, []byte(purpose))
}

// OpenBytes decrypts what SealBytes made for the same purpose. It answers ErrWrongKey for what another key sealed.
func (v *Vault) OpenBytes(purpose string, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte("b1."))
	id, raw, there := bytes.Cut(rest, []byte("."))
	if !ok || !there {
		return nil, errors.New("open sealed bytes: they are not sealed")
	}
	if string(id) != v.id {
		return nil, fmt.Errorf("open sealed bytes: %w", ErrWrongKey)
	}
	plain, err := v.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return nil, errors.New("open sealed bytes: they were damaged, or sealed for something else")
	}
	return plain, nil
}

// ID names the key, without telling anything of it.
func (v *Vault) ID() string { return v.id }

// StoredKeyID names the key that the secrets of a database are sealed with; empty when it was never tied to one.
func StoredKeyID(ctx context.Context, db *store.DB) (string, error) {
	sealed, err := db.Setting(ctx, vaultSetting)
	if err != nil {
		return "", fmt.Errorf("read key id: %w", err)
	}
	rest, ok := strings.CutPrefix(sealed, "v1.")
	if !ok {
		return "", nil
	}
	id, _, _ := strings.Cut(rest, ".")
	return id, nil
}
