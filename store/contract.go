package store

import (
	"context"
	"fmt"
	"strings"
	"time"
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
	return tx.do(ctx, `UPDATE event_type SET visibility = ? WHERE contract_id = ?`, c.Visibility, c.ID)
}

// Contract finds a contract.
func (q *Queries) Contract(ctx context.Context, id string) (Contract, error) {
	return getOne[Contract](ctx, q, `SELECT * FROM contract WHERE id = ?`, id)
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
	return pageOf[Contract](ctx, q, `*`, `contract`, w, `LOWER(title), id`, f.Page)
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
	w := whereOf(`id = ?`, id)
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
	return listOf[string](ctx, q, `SELECT partner_id FROM contract_partner WHERE contract_id = ? ORDER BY partner_id`, contractID)
}

// Kinds of readers of whom is kept that they fetched a version of a contract.
const (
	DownloadClient  = "client"
	DownloadReadKey = "read-key"
	DownloadAccount = "account"
)

// ContractDownload is when a reader last fetched a version of a contract, to the hour or so.
type ContractDownload struct {
	VersionID  string `db:"version_id"`
	ReaderKind string `db:"reader_kind"`
	ReaderID   string `db:"reader_id"`
	PartnerID  string `db:"partner_id"` // whose reader it is
	LastAt     Time   `db:"last_at"`
}

// downloadEvery sets how fine the last time is kept: a row that is younger is not written again.
const downloadEvery = time.Hour

// AddContractDownloads notes who fetched what. A later time replaces an earlier one that is at least an hour old.
func (tx *Tx) AddContractDownloads(ctx context.Context, rows []ContractDownload) error {
	for _, d := range rows {
		_, err := tx.exec(ctx, `INSERT INTO contract_download (version_id, reader_kind, reader_id, partner_id, last_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (version_id, reader_kind, reader_id) DO UPDATE SET partner_id = excluded.partner_id, last_at = excluded.last_at
			WHERE contract_download.last_at <= ?`, d.VersionID, d.ReaderKind, d.ReaderID, d.PartnerID, d.LastAt, At(d.LastAt.Add(-downloadEvery)))
		if err != nil {
			return fmt.Errorf("note download: %w", err)
		}
	}
	return nil
}

// AddAnonymousDownloads adds to how often a version was fetched on the day of a moment, in UTC, by anonymous readers.
func (tx *Tx) AddAnonymousDownloads(ctx context.Context, versionID string, at Time, n int64) error {
	_, err := tx.exec(ctx, `INSERT INTO contract_download_day (version_id, day, downloads) VALUES (?, ?, ?)
		ON CONFLICT (version_id, day) DO UPDATE SET downloads = contract_download_day.downloads + excluded.downloads`,
		versionID, at.UTC().Format(time.DateOnly), n)
	if err != nil {
		return fmt.Errorf("count downloads: %w", err)
	}
	return nil
}

// ContractDownloads lists who fetched a version, the last one first, and with a partner only its readers.
func (q *Queries) ContractDownloads(ctx context.Context, versionID, partnerID string) ([]ContractDownload, error) {
	w := whereOf(`version_id = ?`, versionID)
	w.text(`partner_id = ?`, partnerID)
	return listOf[ContractDownload](ctx, q, `SELECT * FROM contract_download`+w.sql()+` ORDER BY last_at DESC, reader_kind, reader_id`, w.args...)
}

// AnonymousDownloads counts how often a version was fetched, by anonymous readers, on the day of a moment and after.
func (q *Queries) AnonymousDownloads(ctx context.Context, versionID string, since Time) (int64, error) {
	return getOne[int64](ctx, q, `SELECT COALESCE(CAST(SUM(downloads) AS BIGINT), 0) FROM contract_download_day WHERE version_id = ? AND day >= ?`,
		versionID, since.UTC().Format(time.DateOnly))
}

// PruneDownloads removes what was last fetched before the moment given, and the counts of earlier days.
func (tx *Tx) PruneDownloads(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	last, err := tx.exec(ctx, `DELETE FROM contract_download WHERE (version_id, reader_kind, reader_id) IN
		(SELECT version_id, reader_kind, reader_id FROM contract_download WHERE last_at < ? ORDER BY last_at LIMIT ?)`, before, limit)
	if err != nil {
		return Pruned{}, err
	}
	days, err := tx.exec(ctx, `DELETE FROM contract_download_day WHERE (version_id, day) IN
		(SELECT version_id, day FROM contract_download_day WHERE day < ? ORDER BY day LIMIT ?)`, before.UTC().Format(time.DateOnly), limit)
	return Pruned{Rows: last + days, Done: last+days < int64(limit)}, err
}
