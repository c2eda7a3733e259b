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
	VisibilityNamed    = "named" // the partners of ContractPartners alone
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
	BasedOn        string `db:"based_on"`     // sector standard (EDU-25)
	Agreement      string `db:"agreement"`    // who decided on the owner (EDU-22)
	AgreedOn       string `db:"agreed_on"`    // the day of that, as 2026-05-01, or empty
	IDMeaning      string `db:"id_meaning"`   // what makes the id of an event unique (CE-07)
	TimeMeaning    string `db:"time_meaning"` // what the time of an event tells (CE-20)
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
		"contact_email", "classification", "based_on", "agreement", "agreed_on", "id_meaning", "time_meaning", "visibility", "updated_at")
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
	OwnerPartnerID      string // owned by this partner
	Status              string // a state in which the contract has a version
	Sight               *Sight // what the reader may see; nil is all
	WithVersion         bool   // only with a version that is published or deprecated, or of the partner of Sight
	Page
}

// Contracts lists contracts by title with their total count.
func (q *Queries) Contracts(ctx context.Context, f ContractFilter) ([]Contract, int, error) {
	w := where{}
	w.text(`kind = ?`, f.Kind)
	w.text(`owner = ?`, f.Owner)
	w.text(`owner_partner_id = ?`, f.OwnerPartnerID)
	w.text(`id IN (SELECT contract_id FROM contract_version WHERE status = ?)`, f.Status)
	f.Sight.contracts(&w)
	f.withVersion(&w)
	if f.Search != "" {
		p := like(f.Search)
		w.add(`(LOWER(id) LIKE ? ESCAPE '\' OR LOWER(title) LIKE ? ESCAPE '\' OR LOWER(description) LIKE ? ESCAPE '\' OR LOWER(owner) LIKE ? ESCAPE '\')`, p, p, p, p)
	}
	var rows []Contract
	total, err := q.page(ctx, &rows, `*`, `contract`, w, `LOWER(title), id`, f.Page)
	return rows, total, err
}

func (f ContractFilter) withVersion(w *where) {
	const usable = `id IN (SELECT contract_id FROM contract_version WHERE status IN ('published', 'deprecated'))`
	switch {
	case !f.WithVersion:
	case f.Sight == nil || f.Sight.PartnerID == "":
		w.add(usable)
	default:
		w.add(`(owner_partner_id = ? OR `+usable+`)`, f.Sight.PartnerID)
	}
}

// Sight limits the contracts and event types that a reader may see. The zero Sight sees nothing.
type Sight struct {
	Visibilities []string // seen by everybody like the reader
	PartnerID    string   // sees what is shown to it by name, and what it owns; empty for no partner
}

// contracts adds what the reader may see of the table contract; a nil Sight sees all.
func (s *Sight) contracts(w *where) {
	s.add(w, `owner_partner_id = ?`, `id`)
}

// eventTypes adds what the reader may see of the table event_type; a nil Sight sees all.
func (s *Sight) eventTypes(w *where) {
	s.add(w, `contract_id IN (SELECT id FROM contract WHERE owner_partner_id = ?)`, `contract_id`)
}

func (s *Sight) add(w *where, owned, id string) {
	if s == nil {
		return
	}
	either := where{conditions: []string{`1 = 0`}}
	either.in(`visibility`, s.Visibilities)
	if s.PartnerID != "" {
		either.add(owned, s.PartnerID)
		either.add(`(visibility = 'named' AND `+id+` IN (SELECT contract_id FROM contract_partner WHERE partner_id = ?))`, s.PartnerID)
	}
	w.add(`(`+strings.Join(either.conditions, " OR ")+`)`, either.args...)
}

// SeesContract reports whether a reader may see a contract, whatever its versions.
func (q *Queries) SeesContract(ctx context.Context, sight *Sight, id string) (bool, error) {
	w := where{}
	w.add(`id = ?`, id)
	sight.contracts(&w)
	n, err := q.count(ctx, `contract`, w)
	return n > 0, err
}

// SetContractPartners names the partners to whom a contract is shown.
func (tx *Tx) SetContractPartners(ctx context.Context, contractID string, partnerIDs []string) error {
	if _, err := tx.exec(ctx, `DELETE FROM contract_partner WHERE contract_id = ?`, contractID); err != nil {
		return err
	}
	for _, id := range partnerIDs {
		if _, err := tx.exec(ctx, `INSERT INTO contract_partner (contract_id, partner_id) VALUES (?, ?)`, contractID, id); err != nil {
			return err
		}
	}
	return nil
}

// ContractPartners lists the partners to whom a contract is shown by name, by their id.
func (q *Queries) ContractPartners(ctx context.Context, contractID string) ([]string, error) {
	var ids []string
	return ids, q.list(ctx, &ids, `SELECT partner_id FROM contract_partner WHERE contract_id = ? ORDER BY partner_id`, contractID)
}
