package store

import "context"

// Audit is one entry of who did what. Entries are never changed.
type Audit struct {
	ID         string `db:"id"`
	At         Time   `db:"at"`
	ActorKind  string `db:"actor_kind"` // account, client, system, visitor
	ActorID    string `db:"actor_id"`
	ActorName  string `db:"actor_name"`
	Action     string `db:"action"` // such as "subscription.approved"
	ObjectKind string `db:"object_kind"`
	ObjectID   string `db:"object_id"`
	ObjectName string `db:"object_name"`
	PartnerID  string `db:"partner_id"` // whose affair it is, or empty
	Detail     string `db:"detail"`     // JSON object
}

// InsertAudit adds an entry in the transaction of what it tells of.
func (tx *Tx) InsertAudit(ctx context.Context, a Audit) error {
	a.ID, a.At = tx.NewID("aud"), tx.Now
	if a.Detail == "" {
		a.Detail = "{}"
	}
	return tx.insert(ctx, "audit", &a)
}

// AuditFilter selects entries; empty members select all.
type AuditFilter struct {
	PartnerID, ObjectKind, ObjectID, Action, ActorID string
	From, Until                                      Time
	Page
}

// Audits lists entries, newest first, with their total count.
func (q *Queries) Audits(ctx context.Context, f AuditFilter) ([]Audit, int, error) {
	return longPageOf[Audit](ctx, q, `*`, `audit`, f.where(), `id DESC`, f.Page)
}

func (f AuditFilter) where() where {
	w := where{}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`object_kind = ?`, f.ObjectKind)
	w.text(`object_id = ?`, f.ObjectID)
	w.text(`action = ?`, f.Action)
	w.text(`actor_id = ?`, f.ActorID)
	w.instant(`at >= ?`, f.From)
	w.instant(`at < ?`, f.Until)
	return w
}
