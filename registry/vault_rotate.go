package registry

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schakel/store"
)

// proofsSetting holds, sealed, the proof keys of the keys that were in use before. What was proved with them cannot be proved again: nobody
// knows the recovery codes.
const proofsSetting = "vault_proofs"

// Follow brings the key into use that the database names, and reports whether that was another one before. Other nodes may have changed it.
// It answers ErrWrongKey when the vault does not have that key.
func (v *Vault) Follow(ctx context.Context, db *store.DB) (changed bool, err error) {
	sealed, err := db.Setting(ctx, vaultSetting)
	if err != nil || sealedWith(sealed) == v.ID() {
		return false, Wrap("read which key is in use", err)
	}
	return v.follow(ctx, &db.Queries, sealed)
}

func (v *Vault) follow(ctx context.Context, q *store.Queries, sealed string) (changed bool, err error) {
	old := v.state.Load()
	key, ok := old.keys[sealedWith(sealed)]
	if !ok {
		return false, fmt.Errorf("%w; they are sealed with key %s, and %s holds %s", ErrWrongKey, sealedWith(sealed), v.source, strings.Join(v.KeyIDs(), ", "))
	}
	if _, err := v.Open(vaultSetting, sealed); err != nil {
		return false, err
	}
	before, err := v.proofs(ctx, q)
	if err != nil {
		return false, err
	}
	v.state.Store(&vaultState{keys: old.keys, inUse: key, before: before})
	return old.inUse.id != key.id, nil
}

func (v *Vault) proofs(ctx context.Context, q *store.Queries) (before [][]byte, err error) {
	sealed, err := q.Setting(ctx, proofsSetting)
	if err != nil || sealed == "" {
		return nil, err
	}
	text, err := v.Open(proofsSetting, sealed)
	if err != nil {
		return nil, err
	}
	return before, Wrap("read proof keys", json.Unmarshal(text, &before))
}

// Reload reads the keys anew from where they come from, and keeps those it had.
func (v *Vault) Reload(ctx context.Context) error {
	keys, err := v.source.Read(ctx)
	if err != nil {
		return err
	}
	return v.learn(keys)
}

// Use brings a key that the vault has into use for all nodes, in a transaction. This vault follows when that is committed.
func (v *Vault) Use(ctx context.Context, tx *store.Tx, id string) error {
	s := v.state.Load()
	key, ok := s.keys[id]
	if !ok {
		return fmt.Errorf("there is no key %s in %s", id, v.source)
	}
	before := slices.Concat(s.before, [][]byte{s.inUse.proof})
	text, err := json.Marshal(before)
	if err != nil {
		return fmt.Errorf("write proof keys: %w", err)
	}
	if err := tx.SetSetting(ctx, proofsSetting, key.seal(proofsSetting, text)); err != nil {
		return err
	}
	return tx.SetSetting(ctx, vaultSetting, key.seal(vaultSetting, []byte("schakel")))
}

// Prove makes a text that only who has this key can make, for one text such as a question. It tells nothing of the key.
func (v *Vault) Prove(text string) string {
	return prove(v.state.Load().inUse.proof, text)
}

// Proves reports whether proof equals that of Prove for the text, with any of the keys.
func (v *Vault) Proves(text, proof string) bool {
	for _, key := range v.state.Load().keys {
		if hmac.Equal([]byte(prove(key.proof, text)), []byte(proof)) {
			return true
		}
	}
	return false
}

func prove(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// ProveStored is Prove for what is stored and compared later. As nobody can prove a forgotten text again with another key, each key that
// comes into use proves what the one before it proved: who learns an old key alone can try no texts. Store the first
// proof; the others were stored before a key changed.
func (v *Vault) ProveStored(text string) []string {
	s := v.state.Load()
	proofs := []string{}
	for i, key := range slices.Concat(s.before, [][]byte{s.inUse.proof}) {
		if text = prove(key, text); i > 0 {
			text = strconv.Itoa(i+1) + "." + text
		}
		proofs = append(proofs, text)
	}
	slices.Reverse(proofs)
	return proofs
}

// ProveAgain returns what ProveStored now makes of the text of a proof that it made before a key changed.
func (v *Vault) ProveAgain(proof string) string {
	s := v.state.Load()
	had := 1
	if count, _, ok := strings.Cut(proof, "."); ok {
		had, _ = strconv.Atoi(count)
	}
	for i, key := range slices.Concat(s.before, [][]byte{s.inUse.proof}) {
		if i >= had {
			proof = strconv.Itoa(i+1) + "." + prove(key, proof)
		}
	}
	return proof
}

// ProofPrefix begins the proofs that ProveStored makes now; empty as long as one key was ever in use.
func (v *Vault) ProofPrefix() string {
	before := len(v.state.Load().before)
	if before == 0 {
		return ""
	}
	return strconv.Itoa(before+1) + "."
}
