package cms

import (
	"fmt"
	"slices"
	"strings"
)

// Algorithms that a received message may use, by the names that a setting gives them. SHA-1 and MD5 as digests of a signature,
// single DES and RC2 are never accepted.
const (
	KeyRSA      = "rsa-pkcs1v15"  // the content key, with RSA PKCS#1 v1.5
	KeyOAEP     = "rsa-oaep"      // the content key, with RSA-OAEP and any hash
	KeyOAEPSHA1 = "rsa-oaep-sha1" // the same with SHA-1 in it, which is its default; it protects no signature

	ContentAESCBC    = "aes-cbc"
	ContentAESGCM    = "aes-gcm"
	ContentTripleDES = "3des-cbc"

	SignatureRSA   = "rsa-pkcs1v15-signature"
	SignaturePSS   = "rsa-pss"
	SignatureECDSA = "ecdsa"
)

// Algorithms lists the names of algorithms that can be rejected.
func Algorithms() []string {
	return []string{KeyRSA, KeyOAEP, KeyOAEPSHA1, ContentAESCBC, ContentAESGCM, ContentTripleDES, SignatureRSA, SignaturePSS, SignatureECDSA}
}

// CheckRejected answers an error for a name of rejected algorithms that is not known.
func CheckRejected(names []string) error {
	for _, name := range names {
		if !slices.Contains(Algorithms(), name) {
			return fmt.Errorf("unknown algorithm %q: choose from %s", name, strings.Join(Algorithms(), ", "))
		}
	}
	return nil
}

// algorithmError names an algorithm that is not accepted. Which one a message uses stands in it in the clear, so that saying
// so tells nobody anything about a key.
type algorithmError struct{ name, why string }

func (e *algorithmError) Error() string { return "the algorithm " + e.name + " " + e.why }

func unknownAlgorithm(name string) error {
	return &algorithmError{name, "is not accepted"}
}

// reject gives an error when one of the names is rejected by the limits.
func (l Limits) reject(names ...string) error {
	for _, name := range names {
		if slices.Contains(l.Rejected, name) {
			return &algorithmError{name, "is rejected by the settings of this installation"}
		}
	}
	return nil
}
