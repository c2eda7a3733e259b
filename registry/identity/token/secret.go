package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

const (
	// secretPrefix lets a leak scanner recognise a secret of ours.
	secretPrefix = "schs_"
	hashPrefix   = "sha256:"
)

// NewSecret makes a client secret of 256 random bits. plain is shown once to
// the client's owner; store only hash.
//
// The hash is plain SHA-256, without salt or stretching: those slow down the
// guessing of passwords people choose, and nobody guesses 256 random bits. A
// slow hash would only let strangers burn our processor at the token endpoint.
func NewSecret() (plain, hash string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime stops the program instead
	plain = secretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return plain, hashSecret(plain)
}

func hashSecret(plain string) string {
	sum := sha256.Sum256([]byte(plain))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// decoyHash stands in for the hash of a client that is unknown or has none, so
// that both take the path of a wrong secret. No secret is known to hash to it.
const decoyHash = hashPrefix + "0000000000000000000000000000000000000000000000000000000000000000"

func secretMatches(secret, hash string) bool {
	return subtle.ConstantTimeCompare([]byte(hashSecret(secret)), []byte(hash)) == 1
}

// readKeyPrefix distinguishes a read-only key from an access token, and lets a leak scanner
// recognise one.
const readKeyPrefix = "schr_"

// NewReadKey makes a read-only key of 256 random bits. plain is shown once to its
// owner; store only hash, for the reasons given at NewSecret.
func NewReadKey() (plain, hash string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime stops the program instead
	plain = readKeyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return plain, hashSecret(plain)
}

// IsReadKey reports whether a bearer token is a read-only key, by its prefix.
func IsReadKey(bearer string) bool { return strings.HasPrefix(bearer, readKeyPrefix) }

// HashReadKey gives the hash under which a key is stored and found. An index that finds it
// reveals nothing by its timing: an attacker does not know what a guess hashes near to.
func HashReadKey(plain string) string { return hashSecret(plain) }
