package token

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
)

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
