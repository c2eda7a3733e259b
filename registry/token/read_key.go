package token

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
)

// readKeyPrefix tells a read-only key from an access token, and lets a leak scanner
// recognise one.
const readKeyPrefix = "schr_"

// NewReadKey makes a read-only key of 256 random bits. plain is shown once to its
// owner; hash is what is stored, for the reasons that NewSecret tells.
func NewReadKey() (plain, hash string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime stops the program instead
	plain = readKeyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return plain, hashSecret(plain)
}

// IsReadKey tells whether a bearer token is a read-only key by how it begins.
func IsReadKey(bearer string) bool { return strings.HasPrefix(bearer, readKeyPrefix) }

// HashReadKey is what is stored of a key, to find it by. An index that finds it
// tells nothing by its timing: an attacker does not know what a guess hashes near to.
func HashReadKey(plain string) string { return hashSecret(plain) }
