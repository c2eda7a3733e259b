package store

import "context"

// States of a partner: requested → approved → suspended → ended, or rejected.
const (
	PartnerRequested = "requested"
	PartnerApproved  = "approved"
	PartnerSuspended = "suspended"
	PartnerEnded     = "ended"
	PartnerRejected  = "rejected"
)

// Partner is a registered organisation. One row, with Own set, is the organisation that runs this Schakel.
type Partner struct {
	ID               string  `db:"id"`
	Own              bool    `db:"own"`
	Name             string  `db:"name"`
	OIN              string  `db:"oin"`
	KVK              string  `db:"kvk"`
	HerID            string  `db:"her_id"`
	OrgNumber        string  `db:"org_number"` // of a Norwegian organisation, nine digits
	ContactName      string  `db:"contact_name"`
	ContactEmail     string  `db:"contact_email"`
	ContactPhone     string  `db:"contact_phone"`
	EndpointKinds    Strings `db:"endpoint_kinds"`
	TermsVersion     string  `db:"terms_version"`
	TermsAcceptedAt  Time    `db:"terms_accepted_at"`
	EmailConfirmedAt Time    `db:"email_confirmed_at"`
	Status           string  `db:"status"`
	StatusReason     string  `db:"status_reason"`
	CreatedAt        Time    `db:"created_at"`
	UpdatedAt        Time    `db:"updated_at"`
	DecidedAt        Time    `db:"decided_at"`
	DecidedBy        string  `db:"decided_by"`
}

// InsertPartner adds a partner under a new id and sets its times. A second open registration of one OIN or organisasjonsnummer is ErrConflict.
func (tx *Tx) InsertPartner(ctx context.Context, p *Partner) error {
	p.ID, p.CreatedAt, p.UpdatedAt = tx.NewID("ptn"), tx.Now, tx.Now
	return tx.insert(ctx, "partner", p)
}

// UpdatePartner writes all that may change of a partner and recomputes what its subscriptions may do.
func (tx *Tx) UpdatePartner(ctx context.Context, p *Partner) error {
	p.UpdatedAt = tx.Now
	err := tx.update(ctx, "partner", p, "name", "oin", "kvk", "her_id", "org_number", "contact_name", "contact_email", "contact_phone",
		"endpoint_kinds", "terms_version", "terms_accepted_at", "email_confirmed_at", "status", "status_reason",
		"updated_at", "decided_at", "decided_by")
	if err != nil {
		return err
	}
	return tx.refreshSubscriptions(ctx, "partner_id", p.ID)
}

// Partner finds one partner.
func (q *Queries) Partner(ctx context.Context, id string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE id = ?`, id)
}

// OwnPartner is the organisation that runs this Schakel, or ErrNotFound before the first start finished.
func (q *Queries) OwnPartner(ctx context.Context) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE own ORDER BY id LIMIT 1`)
}

// PartnerByOIN finds the partner whose registration with this OIN is open: neither rejected nor ended.
func (q *Queries) PartnerByOIN(ctx context.Context, oin string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE oin = ? AND oin <> '' AND status NOT IN ('rejected', 'ended')`, oin)
}

// PartnerByOrgNumber finds the partner whose registration with this organisasjonsnummer is open: neither rejected nor ended.
func (q *Queries) PartnerByOrgNumber(ctx context.Context, number string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE org_number = ? AND org_number <> '' AND status NOT IN ('rejected', 'ended')`, number)
}

// PartnerFilter selects partners; empty members select all.
type PartnerFilter struct {
	Status string
	Search string // part of the name, or a whole OIN, KvK number, organisasjonsnummer or HER-id
	Page
}

// Partners lists registrations, newest first, with their total count. The own organisation is left out.
func (q *Queries) Partners(ctx context.Context, f PartnerFilter) ([]Partner, int, error) {
	w := whereOf(`NOT own`)
	w.text(`status = ?`, f.Status)
	if f.Search != "" {
		w.add(`(LOWER(name) LIKE ? ESCAPE '\' OR oin = ? OR kvk = ? OR her_id = ? OR org_number = ?)`, like(f.Search), f.Search, f.Search, f.Search, f.Search)
	}
	return pageOf[Partner](ctx, q, `*`, `partner`, w, `id DESC`, f.Page)
}

// CountPartners counts registrations by status.
func (q *Queries) CountPartners(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT status AS name, COUNT(*) AS n FROM partner WHERE NOT own GROUP BY status`)
}
