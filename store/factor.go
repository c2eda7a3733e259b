package store

import "context"

// Kinds of a Factor.
const (
	FactorTOTP    = "totp"
	FactorPasskey = "passkey"
)

// Factor is an app that makes codes, or a passkey, with which somebody logs in beside a password.
type Factor struct {
	ID         string `db:"id"`
	AccountID  string `db:"account_id"`
	Kind       string `db:"kind"`
	Name       string `db:"name"`
	Secret     string `db:"secret"`     // of FactorTOTP sealed; of FactorPasskey the public key, PKIX in base64url
	Credential string `db:"credential"` // of FactorPasskey: its id, in base64url
	Counter    int64  `db:"counter"`    // of FactorTOTP the last step that was used; of FactorPasskey its count of signatures
	CreatedAt  Time   `db:"created_at"`
	UsedAt     Time   `db:"used_at"` // zero for never
}

// Factors lists the factors of an account, oldest first.
func (q *Queries) Factors(ctx context.Context, accountID string) ([]Factor, error) {
	return listOf[Factor](ctx, q, `SELECT * FROM account_factor WHERE account_id = ? ORDER BY id`, accountID)
}

// InsertFactor adds a factor under a new id, and counts it on its account. A passkey that is known already is ErrConflict.
func (tx *Tx) InsertFactor(ctx context.Context, f *Factor) error {
	f.ID, f.CreatedAt = tx.NewID("fac"), tx.Now
	if err := tx.insert(ctx, "account_factor", f); err != nil {
		return err
	}
	return tx.one(ctx, `UPDATE account SET factors = factors + 1 WHERE id = ?`, f.AccountID)
}

// UseFactor notes a use of a factor, and its counter. It is ErrNotFound when the counter went past that meanwhile, so that a code
// that two requests bring at once works for one of them.
func (tx *Tx) UseFactor(ctx context.Context, id string, counter int64) error {
	return tx.one(ctx, `UPDATE account_factor SET counter = ?, used_at = ? WHERE id = ? AND (counter < ? OR counter = 0)`, counter, tx.Now, id, counter)
}

// DeleteFactor removes a factor of an account, and counts it there no more.
func (tx *Tx) DeleteFactor(ctx context.Context, accountID, id string) error {
	if err := tx.one(ctx, `DELETE FROM account_factor WHERE id = ? AND account_id = ?`, id, accountID); err != nil {
		return err
	}
	return tx.one(ctx, `UPDATE account SET factors = factors - 1 WHERE id = ?`, accountID)
}

// DeleteFactors removes all factors and recovery codes of an account.
func (tx *Tx) DeleteFactors(ctx context.Context, accountID string) error {
	if err := tx.do(ctx, `DELETE FROM account_factor WHERE account_id = ?`, accountID); err != nil {
		return err
	}
	if err := tx.ReplaceRecoveryCodes(ctx, accountID, nil); err != nil {
		return err
	}
	return tx.one(ctx, `UPDATE account SET factors = 0 WHERE id = ?`, accountID)
}

// ReplaceRecoveryCodes gives an account other recovery codes; the ones it had work no more.
func (tx *Tx) ReplaceRecoveryCodes(ctx context.Context, accountID string, proofs []string) error {
	if err := tx.do(ctx, `DELETE FROM recovery_code WHERE account_id = ?`, accountID); err != nil {
		return err
	}
	for _, proof := range proofs {
		if err := tx.do(ctx, `INSERT INTO recovery_code (account_id, code_proof) VALUES (?, ?)`, accountID, proof); err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode uses a recovery code up; an unknown one is ErrNotFound.
func (tx *Tx) UseRecoveryCode(ctx context.Context, accountID, proof string) error {
	return tx.one(ctx, `DELETE FROM recovery_code WHERE account_id = ? AND code_proof = ?`, accountID, proof)
}

// RecoveryCodes counts the recovery codes that an account has left.
func (q *Queries) RecoveryCodes(ctx context.Context, accountID string) (int, error) {
	return getOne[int](ctx, q, `SELECT COUNT(*) FROM recovery_code WHERE account_id = ?`, accountID)
}
