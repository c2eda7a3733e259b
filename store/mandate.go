package store

import "context"

// Mandate holds the last answer of the register of mandates about an intermediary that acts for an organisation.
type Mandate struct {
	Intermediary string `db:"intermediary"` // OIN
	Organisation string `db:"organisation"` // OIN
	Service      string `db:"service"`
	Mandated     bool   `db:"mandated"`
	AskedAt      Time   `db:"asked_at"`
}

// SaveMandate writes an answer in place of the one before.
func (tx *Tx) SaveMandate(ctx context.Context, m *Mandate) error {
	return tx.do(ctx, `INSERT INTO mandate (intermediary, organisation, service, mandated, asked_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (intermediary, organisation, service) DO UPDATE SET mandated = excluded.mandated, asked_at = excluded.asked_at`,
		m.Intermediary, m.Organisation, m.Service, m.Mandated, m.AskedAt)
}

// Mandate finds the last answer; ErrNotFound when there is none.
func (q *Queries) Mandate(ctx context.Context, intermediary, organisation, service string) (Mandate, error) {
	return getOne[Mandate](ctx, q, `SELECT * FROM mandate WHERE intermediary = ? AND organisation = ? AND service = ?`, intermediary, organisation, service)
}

// MandatesOf lists the last answers about an intermediary, by organisation and service, most at once.
func (q *Queries) MandatesOf(ctx context.Context, intermediary string, most int) ([]Mandate, error) {
	return listOf[Mandate](ctx, q, `SELECT * FROM mandate WHERE intermediary = ? ORDER BY organisation, service LIMIT ?`, intermediary, most)
}
