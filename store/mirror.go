package store

import "context"

// Kinds of registers that are mirrored.
const (
	MirrorSchakel  = "schakel"
	MirrorCatalog  = "catalog" // RFC 9727
	MirrorApicurio = "apicurio"
	MirrorURLs     = "urls"
)

// MirrorSource is a register of somebody else whose contracts are copied into ours.
type MirrorSource struct {
	ID        string  `db:"id"`
	Name      string  `db:"name"`
	Kind      string  `db:"kind"`
	URL       string  `db:"url"`
	URLs      Strings `db:"urls"` // the lines of a list of addresses
	PartnerID string  `db:"partner_id"`
	Secret    string  `db:"secret"`    // sealed
	Schedule  string  `db:"schedule"`  // as cron writes it, UTC
	Contracts Strings `db:"contracts"` // patterns of ids there; empty is all
	Prefix    string  `db:"prefix"`    // of the ids of the copies
	Enabled   bool    `db:"enabled"`
	AskedAt   Time    `db:"asked_at"` // when somebody asked for a run at once
	AskedBy   string  `db:"asked_by"`
	CreatedAt Time    `db:"created_at"`
	CreatedBy string  `db:"created_by"`
	UpdatedAt Time    `db:"updated_at"`
	RemovedAt Time    `db:"removed_at"` // then it is only the origin of its copies
}

// InsertMirrorSource adds a source; a taken name or prefix is ErrConflict.
func (tx *Tx) InsertMirrorSource(ctx context.Context, s *MirrorSource) error {
	s.ID, s.CreatedAt, s.UpdatedAt = tx.NewID("mir"), tx.Now, tx.Now
	return tx.insert(ctx, "mirror_source", s)
}

// UpdateMirrorSource writes all that can be changed of a source; a taken name is ErrConflict. The kind and the prefix stay.
func (tx *Tx) UpdateMirrorSource(ctx context.Context, s *MirrorSource) error {
	s.UpdatedAt = tx.Now
	return tx.update(ctx, "mirror_source", s, "name", "url", "urls", "partner_id", "secret", "schedule", "contracts", "enabled", "updated_at")
}

// AskMirrorRun requests a run at once.
func (tx *Tx) AskMirrorRun(ctx context.Context, id, by string) error {
	return tx.one(ctx, `UPDATE mirror_source SET asked_at = ?, asked_by = ? WHERE id = ?`, tx.Now, by, id)
}

// RemoveMirrorSource ends a source for good: it is mirrored no more, its key is forgotten, its name and prefix are free, and
// its alarms are settled. Its copies stay. ErrNotFound when it was removed before.
func (tx *Tx) RemoveMirrorSource(ctx context.Context, id, by, reason string) error {
	if err := tx.one(ctx, `UPDATE mirror_source SET removed_at = ?, updated_at = ?, enabled = FALSE, secret = '', name = name || ' ' || id, prefix = id
		WHERE id = ? AND removed_at IS NULL`, tx.Now, tx.Now, id); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `UPDATE mirror_aside SET settled_at = ?, settled_by = ?, reason = ? WHERE source_id = ? AND settled_at IS NULL`, tx.Now, by, reason, id)
	return err
}

// MirrorSource finds a source that was not removed.
func (q *Queries) MirrorSource(ctx context.Context, id string) (MirrorSource, error) {
	var s MirrorSource
	return s, q.get(ctx, &s, `SELECT * FROM mirror_source WHERE id = ? AND removed_at IS NULL`, id)
}

// MirrorSources lists all sources that were not removed, by name.
func (q *Queries) MirrorSources(ctx context.Context) ([]MirrorSource, error) {
	var rows []MirrorSource
	return rows, q.list(ctx, &rows, `SELECT * FROM mirror_source WHERE removed_at IS NULL ORDER BY LOWER(name), id`)
}

// MirrorContract is a contract of our register that is a copy.
type MirrorContract struct {
	ContractID string `db:"contract_id"`
	SourceID   string `db:"source_id"`
	OriginID   string `db:"origin_id"` // as the source calls it
	OriginURL  string `db:"origin_url"`
	GoneAt     Time   `db:"gone_at"` // since when the source does not offer it
	CreatedAt  Time   `db:"created_at"`
	// What the source last said of it.
	OriginTitle       string `db:"origin_title"`
	OriginDescription string `db:"origin_description"`
}

// InsertMirrorContract records that a contract is a copy; ErrConflict when it is one, or the source's contract has one.
func (tx *Tx) InsertMirrorContract(ctx context.Context, c *MirrorContract) error {
	c.CreatedAt = tx.Now
	return tx.insert(ctx, "mirror_contract", c)
}

// SetMirrorContractGone marks since when the source does not offer a contract; the unset time takes the mark away.
func (tx *Tx) SetMirrorContractGone(ctx context.Context, contractID string, at Time) error {
	return tx.one(ctx, `UPDATE mirror_contract SET gone_at = ? WHERE contract_id = ?`, at, contractID)
}

// SetMirrorContractAbout keeps what the source says of a contract now.
func (tx *Tx) SetMirrorContractAbout(ctx context.Context, contractID, title, description string) error {
	return tx.one(ctx, `UPDATE mirror_contract SET origin_title = ?, origin_description = ? WHERE contract_id = ?`, title, description, contractID)
}

// MirrorContract returns the source of a copied contract; ErrNotFound when it is none.
func (q *Queries) MirrorContract(ctx context.Context, contractID string) (MirrorContract, error) {
	var c MirrorContract
	return c, q.get(ctx, &c, `SELECT * FROM mirror_contract WHERE contract_id = ?`, contractID)
}

// MirrorContracts lists the copies of contracts of a source, by their id there; an empty source is all.
func (q *Queries) MirrorContracts(ctx context.Context, sourceID string) ([]MirrorContract, error) {
	w := where{}
	w.text(`source_id = ?`, sourceID)
	var rows []MirrorContract
	return rows, q.list(ctx, &rows, `SELECT * FROM mirror_contract`+w.sql()+` ORDER BY source_id, origin_id`, w.args...)
}

// MirrorContractPage lists the copies of contracts of a source by their id there, with their total count.
func (q *Queries) MirrorContractPage(ctx context.Context, sourceID string, p Page) ([]MirrorContract, int, error) {
	w := where{}
	w.add(`source_id = ?`, sourceID)
	var rows []MirrorContract
	total, err := q.page(ctx, &rows, `*`, `mirror_contract`, w, `origin_id`, p)
	return rows, total, err
}

// MirrorCopy names the origin of the bytes of a contract version.
type MirrorCopy struct {
	VersionID     string `db:"version_id"`
	ContractID    string `db:"contract_id"`
	Version       string `db:"version"`
	SourceID      string `db:"source_id"`
	OriginVersion string `db:"origin_version"` // as the source writes it
	OriginURL     string `db:"origin_url"`
	Digest        string `db:"digest"` // SHA-256, lower-case hex
	ETag          string `db:"etag"`
	FetchedAt     Time   `db:"fetched_at"`
	CheckedAt     Time   `db:"checked_at"` // when the bytes of the source were last compared with ours
	SourceStatus  string `db:"source_status"`
	SourceSince   Time   `db:"source_since"`
}

// The states of a copied version at its source, besides VersionPublished, VersionDeprecated and VersionWithdrawn.
const MirrorGone = "gone" // it is not offered any more, and nobody said why

// InsertMirrorCopy records the origin of a version.
func (tx *Tx) InsertMirrorCopy(ctx context.Context, c *MirrorCopy) error {
	c.FetchedAt, c.CheckedAt, c.SourceSince = tx.Now, tx.Now, tx.Now
	return tx.insert(ctx, "mirror_copy", c)
}

// CheckMirrorCopy records that the source gave the bytes of a copy now, under a tag.
func (tx *Tx) CheckMirrorCopy(ctx context.Context, versionID, etag string) error {
	return tx.one(ctx, `UPDATE mirror_copy SET etag = ?, checked_at = ? WHERE version_id = ?`, etag, tx.Now, versionID)
}

// SetMirrorCopyStatus marks what the source says of a version since now.
func (tx *Tx) SetMirrorCopyStatus(ctx context.Context, versionID, status string) error {
	return tx.one(ctx, `UPDATE mirror_copy SET source_status = ?, source_since = ? WHERE version_id = ?`, status, tx.Now, versionID)
}

// MirrorCopies lists the copied versions of a contract, the one fetched last first.
func (q *Queries) MirrorCopies(ctx context.Context, contractID string) ([]MirrorCopy, error) {
	var rows []MirrorCopy
	return rows, q.list(ctx, &rows, `SELECT * FROM mirror_copy WHERE contract_id = ? ORDER BY fetched_at DESC, version_id DESC`, contractID)
}

// MirrorCopy returns the origin of a version; ErrNotFound when it is no copy.
func (q *Queries) MirrorCopy(ctx context.Context, versionID string) (MirrorCopy, error) {
	var c MirrorCopy
	return c, q.get(ctx, &c, `SELECT * FROM mirror_copy WHERE version_id = ?`, versionID)
}

// CountMirrorCopies counts the copied versions by source.
func (q *Queries) CountMirrorCopies(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT source_id AS name, COUNT(*) AS n FROM mirror_copy GROUP BY source_id`)
}

// MirrorContractsOf returns which of some contracts are copies.
func (q *Queries) MirrorContractsOf(ctx context.Context, contractIDs []string) ([]MirrorContract, error) {
	if len(contractIDs) == 0 {
		return nil, nil
	}
	w := where{}
	w.in(`contract_id`, contractIDs)
	var rows []MirrorContract
	return rows, q.list(ctx, &rows, `SELECT * FROM mirror_contract`+w.sql()+` ORDER BY contract_id`, w.args...)
}
