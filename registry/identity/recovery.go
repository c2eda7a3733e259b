package identity

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"slices"
	"strings"
	"unicode"

	"schakel/store"
)

// recoveryCodes counts the codes that somebody gets for a lost factor. Each works once.
const recoveryCodes = 10

// newRecoveryCodes makes codes of 120 random bits, to be shown once, and what the database holds of them. With so many bits no slow hash is needed.
func (a *Accounts) newRecoveryCodes(accountID string) (codes, proofs []string) {
	for range recoveryCodes {
		raw := make([]byte, 15)
		_, _ = rand.Read(raw) // never fails: the runtime stops the program instead
		text := strings.ToLower(base32.StdEncoding.EncodeToString(raw))
		var groups []string
		for group := range slices.Chunk([]byte(text), 6) {
			groups = append(groups, string(group))
		}
		codes = append(codes, strings.Join(groups, "-"))
		proofs = append(proofs, a.codeProofs(accountID, text)[0])
	}
	return codes, proofs
}

// codeProofs need the key of the vault: who has the database alone cannot try all codes. The first is stored; the others were, before a key
// changed.
func (a *Accounts) codeProofs(accountID, code string) []string {
	return a.cfg.Vault.ProveStored("recovery-code " + accountID + " " + code)
}

// useRecoveryCode uses a recovery code up; an unknown one is store.ErrNotFound.
func (a *Accounts) useRecoveryCode(ctx context.Context, tx *store.Tx, accountID, code string) error {
	for _, proof := range a.codeProofs(accountID, code) {
		if err := tx.UseRecoveryCode(ctx, accountID, proof); !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return store.ErrNotFound
}

// cleanCode is a code without the spaces and dashes that people type.
func cleanCode(code string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, code))
}

// isTOTP reports whether a clean code is one of an app.
func isTOTP(code string) bool {
	return len(code) == totpDigits && strings.Trim(code, "0123456789") == ""
}

// keysOf are the ids of the passkeys among factors.
func keysOf(factors []store.Factor) []string {
	var ids []string
	for _, f := range factors {
		if f.Kind == store.FactorPasskey {
			ids = append(ids, f.Credential)
		}
	}
	return ids
}
