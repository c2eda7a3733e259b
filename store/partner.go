package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

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
	BRIN             string  `db:"brin"`       // of a school: four characters, or six with those of a location
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

// InsertPartner adds a partner under a new id and sets its times. A second open registration of one OIN, BRIN or organisasjonsnummer is ErrConflict.
func (tx *Tx) InsertPartner(ctx context.Context, p *Partner) error {
	p.ID, p.CreatedAt, p.UpdatedAt = tx.NewID("ptn"), tx.Now, tx.Now
	return tx.insert(ctx, "partner", p)
}

// UpdatePartner writes all that may change of a partner and recomputes what its subscriptions may do.
func (tx *Tx) UpdatePartner(ctx context.Context, p *Partner) error {
	p.UpdatedAt = tx.Now
	err := tx.update(ctx, "partner", p, "name", "oin", "kvk", "her_id", "org_number", "brin", "contact_name", "contact_email", "contact_phone",
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

// PartnerOfAddress returns the id of the partner that somebody with a lower-case e-mail address belongs to: by their account, or as the contact
// person of one partner alone. Empty when there is none.
func (q *Queries) PartnerOfAddress(ctx context.Context, email string) (string, error) {
	return getOne[string](ctx, q, `SELECT COALESCE((SELECT partner_id FROM account WHERE email = ?),
		(SELECT MIN(id) FROM partner WHERE contact_email = ? AND status <> 'ended' HAVING COUNT(*) = 1), '')`, email, email)
}

// PartnerByOIN finds the partner whose registration with this OIN is open: neither rejected nor ended.
func (q *Queries) PartnerByOIN(ctx context.Context, oin string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE oin = ? AND oin <> '' AND status NOT IN ('rejected', 'ended')`, oin)
}

// PartnerByOrgNumber finds the partner whose registration with this organisasjonsnummer is open: neither rejected nor ended.
func (q *Queries) PartnerByOrgNumber(ctx context.Context, number string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE org_number = ? AND org_number <> '' AND status NOT IN ('rejected', 'ended')`, number)
}

// PartnerByBRIN finds the partner whose registration with this BRIN is open: neither rejected nor ended.
func (q *Queries) PartnerByBRIN(ctx context.Context, brin string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE brin = ? AND brin <> '' AND status NOT IN ('rejected', 'ended')`, brin)
}

// PartnerByKVK finds the oldest partner, but one, whose registration with this KvK number is open: neither rejected nor ended. One that was approved goes
// before those that wait, since anybody can register. Organisations that are known by another number may share one.
func (q *Queries) PartnerByKVK(ctx context.Context, kvk, except string) (Partner, error) {
	return getOne[Partner](ctx, q, `SELECT * FROM partner WHERE kvk = ? AND kvk <> '' AND id <> ? AND status NOT IN ('rejected', 'ended') ORDER BY status = 'requested', id LIMIT 1`, kvk, except)
}

// KnownPartners lists up to limit organisations that a new one could be taken for, the own one first and then the oldest: those
// whose address was confirmed and that go on, but for one. Of each it reads what tells it from others.
func (q *Queries) KnownPartners(ctx context.Context, except string, limit int) ([]Partner, error) {
	return listOf[Partner](ctx, q, `SELECT id, own, name, oin, kvk, brin, org_number, her_id, contact_email, status FROM partner
		WHERE id <> ? AND (own OR status IN ('approved', 'suspended') OR status = 'requested' AND email_confirmed_at IS NOT NULL)
		ORDER BY own DESC, id LIMIT ?`, except, limit)
}

// RegistrationDraft is a registration that somebody has begun in a browser.
type RegistrationDraft struct {
	ID        string `db:"id"`
	TokenHash string `db:"token_hash"` // SHA-256 in hexadecimal of what the browser keeps
	Sealed    string `db:"sealed"`     // what was typed
	UpdatedAt Time   `db:"updated_at"`
	ExpiresAt Time   `db:"expires_at"`
}

// RegistrationDraft finds a draft that has not expired by the hash of what its browser keeps.
func (q *Queries) RegistrationDraft(ctx context.Context, tokenHash string, now Time) (RegistrationDraft, error) {
	return getOne[RegistrationDraft](ctx, q, `SELECT * FROM registration_draft WHERE token_hash = ? AND expires_at > ?`, tokenHash, now)
}

// SaveRegistrationDraft adds a draft under a new id, or writes one again that has an id.
func (tx *Tx) SaveRegistrationDraft(ctx context.Context, d *RegistrationDraft) error {
	d.UpdatedAt = tx.Now
	if d.ID == "" {
		d.ID = tx.NewID("rgd")
		return tx.insert(ctx, "registration_draft", d)
	}
	return tx.update(ctx, "registration_draft", d, "token_hash", "sealed", "updated_at", "expires_at")
}

// RotateRegistrationDraft gives a draft that has not expired to another browser, from which on the one before does not open it.
func (tx *Tx) RotateRegistrationDraft(ctx context.Context, id, tokenHash string) error {
	n, err := tx.exec(ctx, `UPDATE registration_draft SET token_hash = ? WHERE id = ? AND expires_at > ?`, tokenHash, id, tx.Now)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// DeleteRegistrationDraft forgets a draft; one that is gone already is no error.
func (tx *Tx) DeleteRegistrationDraft(ctx context.Context, tokenHash string) error {
	_, err := tx.exec(ctx, `DELETE FROM registration_draft WHERE token_hash = ?`, tokenHash)
	return err
}

// PartnerFilter selects partners; empty members select all.
type PartnerFilter struct {
	Status string
	Search string // part of the name, or a whole OIN, KvK number, BRIN, organisasjonsnummer or HER-id
	Page
}

// Partners lists registrations, newest first, with their total count. The own organisation is left out.
func (q *Queries) Partners(ctx context.Context, f PartnerFilter) ([]Partner, int, error) {
	w := whereOf(`NOT own`)
	w.text(`status = ?`, f.Status)
	if f.Search != "" {
		w.add(`(LOWER(name) LIKE ? ESCAPE '\' OR oin = ? OR kvk = ? OR her_id = ? OR org_number = ? OR brin = ?)`,
			like(f.Search), f.Search, f.Search, f.Search, f.Search, strings.ToUpper(f.Search))
	}
	return pageOf[Partner](ctx, q, `*`, `partner`, w, `id DESC`, f.Page)
}

// mostNames bounds the ids of one statement of PartnerNames.
const mostNames = 500

// PartnerNames finds the names of partners by their ids.
func (q *Queries) PartnerNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	for some := range slices.Chunk(ids, mostNames) {
		w := whereIn(`id`, some)
		rows, err := listOf[Partner](ctx, q, `SELECT id, name FROM partner`+w.sql(), w.args...)
		if err != nil {
			return nil, fmt.Errorf("name partners: %w", err)
		}
		for _, p := range rows {
			names[p.ID] = p.Name
		}
	}
	return names, nil
}

// CountPartners counts registrations by status.
func (q *Queries) CountPartners(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT status AS name, COUNT(*) AS n FROM partner WHERE NOT own GROUP BY status`)
}
