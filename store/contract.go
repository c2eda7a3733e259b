package store

import (
	"context"
	"strings"
)

// States of a contract version and who may see a contract.
const (
	VersionDraft      = "draft"
	VersionPublished  = "published"
	VersionDeprecated = "deprecated"
	VersionWithdrawn  = "withdrawn"

	VisibilityPublic   = "public"
	VisibilityPartners = "partners"
	VisibilityInternal = "internal"
)

// Contract is an OpenAPI or AsyncAPI document under an id that its owner chose.
type Contract struct {
	ID             string `db:"id"` // kebab-case
	Kind           string `db:"kind"`
	Title          string `db:"title"`
	Description    string `db:"description"`
	Owner          string `db:"owner"`
	OwnerPartnerID string `db:"owner_partner_id"`
	Maintainer     string `db:"maintainer"`
	ContactName    string `db:"contact_name"`
	ContactEmail   string `db:"contact_email"`
	Classification string `db:"classification"`
	BasedOn        string `db:"based_on"`  // sector standard (EDU-25)
	Agreement      string `db:"agreement"` // who decided on the owner, and when (EDU-22)
	Visibility     string `db:"visibility"`
	CreatedAt      Time   `db:"created_at"`
	CreatedBy      string `db:"created_by"`
	UpdatedAt      Time   `db:"updated_at"`
}

// InsertContract adds a contract; a taken id is ErrConflict.
func (tx *Tx) InsertContract(ctx context.Context, c *Contract) error {
	c.CreatedAt, c.UpdatedAt = tx.Now, tx.Now
	return tx.insert(ctx, "contract", c)
}

// UpdateContract writes the metadata of a contract; its event types take over the visibility.
func (tx *Tx) UpdateContract(ctx context.Context, c *Contract) error {
	c.UpdatedAt = tx.Now
	err := tx.update(ctx, "contract", c, "title", "description", "owner", "owner_partner_id", "maintainer", "contact_name",
		"contact_email", "classification", "based_on", "agreement", "visibility", "updated_at")
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `UPDATE event_type SET visibility = ? WHERE contract_id = ?`, c.Visibility, c.ID)
	return err
}

// Contract finds a contract.
func (q *Queries) Contract(ctx context.Context, id string) (Contract, error) {
	var c Contract
	return c, q.get(ctx, &c, `SELECT * FROM contract WHERE id = ?`, id)
}

// ContractFilter selects contracts; empty members select all.
type ContractFilter struct {
	Kind, Owner, Search string
	Status              string   // a state in which the contract has a version
	Visibilities        []string // which the reader may see
	OwnerPartnerID      string   // contracts of this partner are selected whatever their visibility and versions
	WithVersion         bool     // only contracts with a version that is published or deprecated
	Page
}

// Contracts lists contracts by title with their total count.
func (q *Queries) Contracts(ctx context.Context, f ContractFilter) ([]Contract, int, error) {
	w := where{}
	w.text(`kind = ?`, f.Kind)
	w.text(`owner = ?`, f.Owner)
	w.text(`id IN (SELECT contract_id FROM contract_version WHERE status = ?)`, f.Status)
	f.visible(&w)
	if f.Search != "" {
		p := like(f.Search)
		w.add(`(LOWER(id) LIKE ? ESCAPE '\' OR LOWER(title) LIKE ? ESCAPE '\' OR LOWER(description) LIKE ? ESCAPE '\' OR LOWER(owner) LIKE ? ESCAPE '\')`, p, p, p, p)
	}
	var rows []Contract
	total, err := q.page(ctx, &rows, `*`, `contract`, w, `LOWER(title), id`, f.Page)
	return rows, total, err
}

// visible adds what the reader may see.
func (f ContractFilter) visible(w *where) {
	v := where{}
	v.in(`visibility`, f.Visibilities)
	if f.WithVersion {
		v.add(`id IN (SELECT contract_id FROM contract_version WHERE status IN ('published', 'deprecated'))`)
	}
	switch {
	case len(v.conditions) == 0:
	case f.OwnerPartnerID == "":
		w.add(strings.Join(v.conditions, " AND "), v.args...)
	default:
		w.add(`(owner_partner_id = ? OR `+strings.Join(v.conditions, " AND ")+`)`, append([]any{f.OwnerPartnerID}, v.args...)...)
	}
}
