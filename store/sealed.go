package store

import (
	"context"
	"fmt"
)

// SealedRow is a row with a value that is sealed.
type SealedRow struct {
	Key   string `db:"row_key"`
	Of    string `db:"row_of"` // another column of the row
	Value []byte `db:"row_value"`
}

// SealedQuery names a column with sealed values. Its names are put into statements as they are.
type SealedQuery struct {
	Table, Column, Key, Of string
	Bytes                  bool // the values are bytes that begin with b1. and the id of their key; otherwise texts with v1. and that id
	Within                 bool // the values are within texts
	Old                    bool // values that are not sealed count too
}

// SealedCount counts values by the key that seals them.
type SealedCount struct {
	KeyID  string `db:"key_id"` // empty for values that are not sealed
	Values int64  `db:"total"`
}

// SealedCounts counts the values of a column by their keys. Of values within texts it counts none: see SealedRows.
func (q *Queries) SealedCounts(ctx context.Context, s SealedQuery) ([]SealedCount, error) {
	condition, args := s.sealed()
	kind := `CASE WHEN ` + condition + ` THEN substr(` + s.Column + `, 4, 8) END`
	if s.Bytes {
		// As text, for both databases.
		kind = `CASE WHEN ` + condition + ` THEN ` + map[Dialect]string{
			SQLite:   `CAST(substr(` + s.Column + `, 4, 8) AS TEXT)`,
			Postgres: `convert_from(substr(` + s.Column + `, 4, 8), 'LATIN1')`,
		}[q.dialect] + ` END`
	}
	rows, err := listOf[SealedCount](ctx, q, `SELECT COALESCE(key_id, '') AS key_id, COUNT(*) AS total FROM
		(SELECT `+kind+` AS key_id FROM `+s.Table+` WHERE length(`+s.Column+`) > 0) AS found GROUP BY key_id ORDER BY 1`, args...)
	if err != nil {
		return nil, fmt.Errorf("count sealed values of %s.%s: %w", s.Table, s.Column, err)
	}
	return rows, nil
}

func (s SealedQuery) sealed() (condition string, args []any) {
	if s.Bytes {
		return `substr(` + s.Column + `, 1, 3) = ?`, []any{[]byte("b1.")}
	}
	return s.Column + ` LIKE 'v1.________.%'`, nil
}

// SealedRows lists up to limit rows behind a key whose values another key than the one given seals, in order of their keys. Rows with
// values within texts are listed whichever key seals those.
func (q *Queries) SealedRows(ctx context.Context, s SealedQuery, keyID, after string, limit int) ([]SealedRow, error) {
	condition, args := s.sealed()
	switch {
	case s.Within:
		condition = s.Column + ` LIKE '%v1.________.%'`
	case s.Old:
		condition, args = `length(`+s.Column+`) > 0`, nil
	}
	if s.Bytes {
		condition += ` AND substr(` + s.Column + `, 1, 12) <> ?`
		args = append(args, []byte("b1."+keyID+"."))
	} else if !s.Within {
		condition += ` AND ` + s.Column + ` NOT LIKE ?`
		args = append(args, "v1."+keyID+".%")
	}
	rows, err := listOf[SealedRow](ctx, q, `SELECT `+s.Key+` AS row_key, `+s.Of+` AS row_of, `+s.Column+` AS row_value FROM `+s.Table+`
		WHERE `+condition+` AND `+s.Key+` > ? ORDER BY `+s.Key+` LIMIT ?`, append(args, after, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list sealed values of %s.%s: %w", s.Table, s.Column, err)
	}
	return rows, nil
}

// SwapSealed replaces a value that is still the one before, and reports whether it was.
func (tx *Tx) SwapSealed(ctx context.Context, s SealedQuery, row SealedRow, after []byte) (bool, error) {
	var was, is any = row.Value, after
	if !s.Bytes {
		was, is = string(row.Value), string(after)
	}
	n, err := tx.exec(ctx, `UPDATE `+s.Table+` SET `+s.Column+` = ? WHERE `+s.Key+` = ? AND `+s.Column+` = ?`, is, row.Key, was)
	if err != nil {
		return false, fmt.Errorf("seal %s.%s of %s: %w", s.Table, s.Column, row.Key, err)
	}
	return n == 1, nil
}

// RecoveryProof recognises a recovery code.
type RecoveryProof struct {
	AccountID string `db:"account_id"`
	Proof     string `db:"code_proof"`
}

// RecoveryProofs lists up to limit recovery codes that do not begin with a prefix, which is empty for none.
func (q *Queries) RecoveryProofs(ctx context.Context, without string, limit int) ([]RecoveryProof, error) {
	return listOf[RecoveryProof](ctx, q, `SELECT account_id, code_proof FROM recovery_code WHERE code_proof NOT LIKE ? ORDER BY account_id, code_proof LIMIT ?`,
		without+"%", limit)
}

// SwapRecoveryProof replaces a recovery code that was not used meanwhile.
func (tx *Tx) SwapRecoveryProof(ctx context.Context, p RecoveryProof, after string) error {
	return tx.do(ctx, `UPDATE recovery_code SET code_proof = ? WHERE account_id = ? AND code_proof = ?`, after, p.AccountID, p.Proof)
}

// EndSessionsWith ends the browser sessions whose data holds a text, and counts them.
func (tx *Tx) EndSessionsWith(ctx context.Context, text string) (int64, error) {
	place := map[Dialect]string{SQLite: `instr(data, ?)`, Postgres: `position(?::bytea in data)`}[tx.dialect]
	n, err := tx.exec(ctx, `DELETE FROM session WHERE `+place+` > 0`, []byte(text))
	if err != nil {
		return 0, fmt.Errorf("end sessions: %w", err)
	}
	return n, nil
}

// NodeKeys names the keys of the vault that a node has.
type NodeKeys struct {
	Node   string `db:"node"`
	Keys   string `db:"keys"`  // ids, separated by spaces
	Seals  string `db:"seals"` // the id of the one that it seals with
	SeenAt Time   `db:"seen_at"`
}

// NodeKeys lists what nodes told since a moment.
func (q *Queries) NodeKeys(ctx context.Context, since Time) ([]NodeKeys, error) {
	return listOf[NodeKeys](ctx, q, `SELECT * FROM node_key WHERE seen_at >= ? ORDER BY node`, since)
}

// SaveNodeKeys writes what a node has now.
func (tx *Tx) SaveNodeKeys(ctx context.Context, n NodeKeys) error {
	return tx.do(ctx, `INSERT INTO node_key (node, keys, seals, seen_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (node) DO UPDATE SET keys = excluded.keys, seals = excluded.seals, seen_at = excluded.seen_at`, n.Node, n.Keys, n.Seals, tx.Now)
}

// EndNodeKeys forgets a node that stops, and those that were silent since a moment.
func (tx *Tx) EndNodeKeys(ctx context.Context, node string, silent Time) error {
	return tx.do(ctx, `DELETE FROM node_key WHERE node = ? OR seen_at < ?`, node, silent)
}
