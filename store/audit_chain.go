package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// auditEncoding begins the hash of an entry and names how its content is written for it. Another way gets another name, and entries
// keep theirs.
const auditEncoding = "v1:"

// AuditHash computes the hash of an entry behind the one whose hash is prev: SHA-256 over "schakel audit v1", prev, and each member
// from Seq to Detail in the order below. Each is written with its length in bytes, a colon and a comma (netstrings), so that no two
// entries are written alike. Numbers are decimal, At counts microseconds since 1970.
func AuditHash(prev string, a Audit) string {
	h := sha256.New()
	h.Write([]byte("schakel audit v1\n"))
	for _, text := range []string{
		prev, strconv.FormatInt(a.Seq, 10), a.ID, strconv.FormatInt(a.At.UnixMicro(), 10), a.ActorKind, a.ActorID, a.ActorName,
		a.Action, a.ObjectKind, a.ObjectID, a.ObjectName, a.PartnerID, a.Address, a.Detail,
	} {
		h.Write(strconv.AppendInt(nil, int64(len(text)), 10))
		h.Write([]byte(":" + text + ","))
	}
	return auditEncoding + hex.EncodeToString(h.Sum(nil))
}

// AuditHead is the last entry of the chain, and the last one that retention removed: the first that is there follows it.
type AuditHead struct {
	Chain     string `db:"chain"` // names the chain; empty while it has no entry
	Seq       int64  `db:"seq"`
	Hash      string `db:"hash"`
	FloorSeq  int64  `db:"floor_seq"`
	FloorHash string `db:"floor_hash"`
}

// AuditHead reads where the chain is.
func (q *Queries) AuditHead(ctx context.Context) (AuditHead, error) {
	return getOne[AuditHead](ctx, q, `SELECT chain, seq, hash, floor_seq, floor_hash FROM audit_head WHERE id = 1`)
}

// LockAuditHead is AuditHead for who changes it: until the transaction ends no other adds to the chain or prunes it.
func (tx *Tx) LockAuditHead(ctx context.Context) (AuditHead, error) {
	query := `SELECT chain, seq, hash, floor_seq, floor_hash FROM audit_head WHERE id = 1`
	if tx.dialect == Postgres {
		query += ` FOR UPDATE`
	}
	return getOne[AuditHead](ctx, &tx.Queries, query)
}

// follow makes a the next entry of the chain.
func (h *AuditHead) follow(a *Audit) {
	h.Seq++
	a.Seq, a.PrevHash = h.Seq, h.Hash
	a.Hash = AuditHash(h.Hash, *a)
	h.Hash = a.Hash
}

func (tx *Tx) moveAuditHead(ctx context.Context, h AuditHead) error {
	if h.Chain == "" {
		h.Chain = tx.NewID("chn")
	}
	return tx.one(ctx, `UPDATE audit_head SET chain = ?, seq = ?, hash = ? WHERE id = 1`, h.Chain, h.Seq, h.Hash)
}

// chainAudits writes the entries of a transaction as the last thing before its commit. One transaction at a time has the head of the
// chain, and only for this: on PostgreSQL from here to the end of its commit, so that nodes wait for each other no longer than one
// flush to disk, and never while they hold it (it is the last lock they take, so nothing can be locked crosswise). The chain is in the
// order of the commits, whole after a kill at any moment, and entries of what was rolled back leave no gap.
func (tx *Tx) chainAudits(ctx context.Context) error {
	if len(tx.audits) == 0 {
		return nil
	}
	head, err := tx.LockAuditHead(ctx)
	if err != nil {
		return fmt.Errorf("read head of the audit trail: %w", err)
	}
	for i := range tx.audits {
		head.follow(&tx.audits[i])
		if err := tx.insert(ctx, "audit", &tx.audits[i]); err != nil {
			return fmt.Errorf("write audit trail: %w", err)
		}
	}
	if err := tx.moveAuditHead(ctx, head); err != nil {
		return fmt.Errorf("write head of the audit trail: %w", err)
	}
	tx.audits = nil
	return nil
}

// adoptedAtOnce bounds the entries without a place in the chain that one transaction gives one.
const adoptedAtOnce = 1000

// adoptAudits gives entries a place in the chain that have none: those from before there was a chain, and those of a node of an older
// version that still ran. Of each batch an entry tells that it was done, and when: what they were earlier nobody can prove.
func (db *DB) adoptAudits(ctx context.Context) error {
	for {
		found := 0
		err := db.Write(ctx, func(tx *Tx) error {
			head, err := tx.LockAuditHead(ctx)
			if err != nil {
				return err
			}
			rows, err := listOf[Audit](ctx, &tx.Queries, `SELECT * FROM audit WHERE seq = 0 ORDER BY id LIMIT ?`, adoptedAtOnce)
			if err != nil || len(rows) == 0 {
				return err
			}
			found = len(rows)
			for _, a := range rows {
				head.follow(&a)
				if err := tx.one(ctx, `UPDATE audit SET seq = ?, prev_hash = ?, hash = ? WHERE id = ?`, a.Seq, a.PrevHash, a.Hash, a.ID); err != nil {
					return err
				}
			}
			return errors.Join(tx.moveAuditHead(ctx, head), tx.InsertAudit(ctx, Audit{
				ActorKind: "system", ActorName: "Schakel", Action: AuditAdopted, ObjectKind: "audit", ObjectID: rows[0].ID, ObjectName: strconv.Itoa(found),
				Detail: fmt.Sprintf(`{"first":%q,"last":%q}`, rows[0].ID, rows[found-1].ID),
			}))
		})
		if err != nil || found < adoptedAtOnce {
			return err
		}
	}
}

// AuditAdopted is the action of entries that tell that others got a place in the chain after they were written.
const AuditAdopted = "audit.adopted"

// AuditsAfter lists up to limit entries of the chain behind a place in it, in its order.
func (q *Queries) AuditsAfter(ctx context.Context, seq int64, limit int) ([]Audit, error) {
	return listOf[Audit](ctx, q, `SELECT * FROM audit WHERE seq > ? AND seq > 0 ORDER BY seq LIMIT ?`, seq, limit)
}

// UnchainedAudits lists up to limit entries that have no place in the chain.
func (q *Queries) UnchainedAudits(ctx context.Context, limit int) ([]Audit, error) {
	return listOf[Audit](ctx, q, `SELECT * FROM audit WHERE seq = 0 ORDER BY id LIMIT ?`, limit)
}

// PruneAudit removes the oldest entries of the chain, as long as they were made before the moment given. Whoever calls it signs in the
// same transaction how far that went, so that the rest can be checked.
func (tx *Tx) PruneAudit(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	head, err := tx.LockAuditHead(ctx)
	if err != nil {
		return Pruned{}, fmt.Errorf("read head of the audit trail: %w", err)
	}
	rows, err := listOf[Audit](ctx, &tx.Queries, `SELECT at, seq, hash FROM audit WHERE seq > 0 ORDER BY seq LIMIT ?`, limit)
	if err != nil {
		return Pruned{}, fmt.Errorf("list old audit entries: %w", err)
	}
	old := 0
	for old < len(rows) && rows[old].At.Before(before.Time) {
		old++
	}
	if old == 0 {
		return Pruned{Done: true}, nil
	}
	head.FloorSeq, head.FloorHash = rows[old-1].Seq, rows[old-1].Hash
	if err := tx.do(ctx, `DELETE FROM audit WHERE seq > 0 AND seq <= ?`, head.FloorSeq); err != nil {
		return Pruned{}, fmt.Errorf("delete from audit: %w", err)
	}
	err = tx.one(ctx, `UPDATE audit_head SET floor_seq = ?, floor_hash = ? WHERE id = 1`, head.FloorSeq, head.FloorHash)
	return Pruned{Rows: int64(old), Done: old < limit}, err
}

// The kinds of checkpoints.
const (
	CheckpointOfHead   = "checkpoint"
	CheckpointOfPruned = "pruned"
)

// AuditCheckpoint is a signed statement of what the chain was at a moment.
type AuditCheckpoint struct {
	Kind string `db:"kind"`
	Seq  int64  `db:"seq"`
	At   Time   `db:"at"`
	Text string `db:"text"` // with its signature
}

// InsertAuditCheckpoint adds a checkpoint; one of this kind and place that is there stays.
func (tx *Tx) InsertAuditCheckpoint(ctx context.Context, c AuditCheckpoint) error {
	return tx.do(ctx, `INSERT INTO audit_checkpoint (kind, seq, at, text) VALUES (?, ?, ?, ?) ON CONFLICT (kind, seq) DO NOTHING`, c.Kind, c.Seq, tx.Now, c.Text)
}

// AuditCheckpoints lists all checkpoints, by their place in the chain.
func (q *Queries) AuditCheckpoints(ctx context.Context) ([]AuditCheckpoint, error) {
	return listOf[AuditCheckpoint](ctx, q, `SELECT * FROM audit_checkpoint ORDER BY seq, kind`)
}

// ThinAuditCheckpoints removes the checkpoints that no longer prove anything: of entries that were pruned, and, of those made before
// the moment given, all but the first of each day in UTC.
func (tx *Tx) ThinAuditCheckpoints(ctx context.Context, before Time) error {
	const day = `86400000000` // microseconds
	return tx.do(ctx, `DELETE FROM audit_checkpoint WHERE
		(kind = 'pruned' AND seq < (SELECT floor_seq FROM audit_head WHERE id = 1)) OR
		(kind = 'checkpoint' AND (seq < (SELECT floor_seq FROM audit_head WHERE id = 1) OR
		(at < ? AND EXISTS (SELECT 1 FROM audit_checkpoint c WHERE c.kind = 'checkpoint' AND c.seq < audit_checkpoint.seq
			AND c.at / `+day+` = audit_checkpoint.at / `+day+`))))`, before)
}
