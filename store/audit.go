package store

import "context"

// Audit is one entry of who did what. Entries are never changed. The last three members tie it to the entry before it; see [AuditHash].
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
	Address    string `db:"address"`    // IP address that the request came from; empty for what the program does itself
	Seq        int64  `db:"seq"`
	PrevHash   string `db:"prev_hash"`
	Hash       string `db:"hash"`
}

// addressKey is the context key of [WithAddress].
type addressKey struct{}

// WithAddress gives the audit entries that are written with a context the IP address that a request came from.
func WithAddress(ctx context.Context, addr string) context.Context {
	return context.WithValue(ctx, addressKey{}, addr)
}

// InsertAudit adds an entry in the transaction of what it tells of. It gets its place in the chain, and its row, when the transaction
// commits: until then a reader does not find it, not even in the same transaction.
func (tx *Tx) InsertAudit(ctx context.Context, a Audit) error {
	a.ID, a.At = tx.NewID("aud"), tx.Now
	if a.Detail == "" {
		a.Detail = "{}"
	}
	if a.Address == "" {
		a.Address, _ = ctx.Value(addressKey{}).(string)
	}
	tx.audits = append(tx.audits, a)
	return nil
}

// AuditFilter selects entries; empty members select all.
type AuditFilter struct {
	PartnerID, ObjectKind, ObjectID, Action, ActorID string
	// Text finds entries by a part of the name of who did it or of what it was done to.
	Text        string
	From, Until Time
	Page
}

// Audits lists entries, newest first, with their total count.
func (q *Queries) Audits(ctx context.Context, f AuditFilter) ([]Audit, int, error) {
	return longPageOf[Audit](ctx, q, `*`, `audit`, f.where(), `id DESC`, f.Page)
}

// NewestAudits lists the newest entries, without counting the rest.
func (q *Queries) NewestAudits(ctx context.Context, f AuditFilter, most int) ([]Audit, error) {
	return onPage[Audit](ctx, q, `*`, `audit`, f.where(), `id DESC`, Page{Number: 1, Size: most})
}

func (f AuditFilter) where() where {
	w := where{}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`object_kind = ?`, f.ObjectKind)
	w.text(`object_id = ?`, f.ObjectID)
	w.text(`action = ?`, f.Action)
	w.text(`actor_id = ?`, f.ActorID)
	if f.Text != "" {
		w.add(`(LOWER(object_name) LIKE ? ESCAPE '\' OR LOWER(actor_name) LIKE ? ESCAPE '\')`, like(f.Text), like(f.Text))
	}
	w.instant(`at >= ?`, f.From)
	w.instant(`at < ?`, f.Until)
	return w
}
