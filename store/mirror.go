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
	return tx.do(ctx, `UPDATE mirror_aside SET settled_at = ?, settled_by = ?, reason = ? WHERE source_id = ? AND settled_at IS NULL`, tx.Now, by, reason, id)
}

// MirrorSource finds a source that was not removed.
func (q *Queries) MirrorSource(ctx context.Context, id string) (MirrorSource, error) {
	return getOne[MirrorSource](ctx, q, `SELECT * FROM mirror_source WHERE id = ? AND removed_at IS NULL`, id)
}

// MirrorSources lists all sources that were not removed, by name.
func (q *Queries) MirrorSources(ctx context.Context) ([]MirrorSource, error) {
	return listOf[MirrorSource](ctx, q, `SELECT * FROM mirror_source WHERE removed_at IS NULL ORDER BY LOWER(name), id`)
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
	return getOne[MirrorContract](ctx, q, `SELECT * FROM mirror_contract WHERE contract_id = ?`, contractID)
}

// MirrorContracts lists the copies of contracts of a source, by their id there; an empty source is all.
func (q *Queries) MirrorContracts(ctx context.Context, sourceID string) ([]MirrorContract, error) {
	w := where{}
	w.text(`source_id = ?`, sourceID)
	return listOf[MirrorContract](ctx, q, `SELECT * FROM mirror_contract`+w.sql()+` ORDER BY source_id, origin_id`, w.args...)
}

// MirrorContractPage lists the copies of contracts of a source by their id there, with their total count.
func (q *Queries) MirrorContractPage(ctx context.Context, sourceID string, p Page) ([]MirrorContract, int, error) {
	w := whereOf(`source_id = ?`, sourceID)
	return pageOf[MirrorContract](ctx, q, `*`, `mirror_contract`, w, `origin_id`, p)
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
	return listOf[MirrorCopy](ctx, q, `SELECT * FROM mirror_copy WHERE contract_id = ? ORDER BY fetched_at DESC, version_id DESC`, contractID)
}

// MirrorCopy returns the origin of a version; ErrNotFound when it is no copy.
func (q *Queries) MirrorCopy(ctx context.Context, versionID string) (MirrorCopy, error) {
	return getOne[MirrorCopy](ctx, q, `SELECT * FROM mirror_copy WHERE version_id = ?`, versionID)
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
	w := whereIn(`contract_id`, contractIDs)
	return listOf[MirrorContract](ctx, q, `SELECT * FROM mirror_contract`+w.sql()+` ORDER BY contract_id`, w.args...)
}

// MirrorRun is one run of a mirror, and what it found.
type MirrorRun struct {
	ID         string `db:"id"`
	SourceID   string `db:"source_id"`
	Cause      string `db:"cause"` // schedule, or the name of who asked
	StartedAt  Time   `db:"started_at"`
	FinishedAt Time   `db:"finished_at"` // unset while it goes on
	Added      int    `db:"added"`       // versions, as all counts
	Unchanged  int    `db:"unchanged"`
	Changed    int    `db:"changed"` // with other bytes than our copy
	Refused    int    `db:"refused"` // that cannot be kept
	Marked     int    `db:"marked"`  // deprecated, withdrawn, gone or back
	Failed     int    `db:"failed"`  // that could not be fetched
	Error      string `db:"error"`   // why the run could not do its work, or empty
	Lines      string `db:"lines"`   // JSON array of what was not as before
}

// StartMirrorRun adds a run; those of the source that were broken off are ended.
func (tx *Tx) StartMirrorRun(ctx context.Context, r *MirrorRun) error {
	_, err := tx.exec(ctx, `UPDATE mirror_run SET finished_at = ?, error = 'The run was broken off.' WHERE source_id = ? AND finished_at IS NULL`,
		tx.Now, r.SourceID)
	if err != nil {
		return err
	}
	r.ID, r.StartedAt = tx.NewID("mrn"), tx.Now
	return tx.insert(ctx, "mirror_run", r)
}

// FinishMirrorRun writes what came of a run; ErrNotFound when another took it for broken off.
func (tx *Tx) FinishMirrorRun(ctx context.Context, r *MirrorRun) error {
	r.FinishedAt = tx.Now
	return tx.one(ctx, `UPDATE mirror_run SET finished_at = ?, added = ?, unchanged = ?, changed = ?, refused = ?, marked = ?, failed = ?,
		error = ?, lines = ? WHERE id = ? AND finished_at IS NULL`,
		r.FinishedAt, r.Added, r.Unchanged, r.Changed, r.Refused, r.Marked, r.Failed, r.Error, r.Lines, r.ID)
}

// MirrorRun finds a run.
func (q *Queries) MirrorRun(ctx context.Context, id string) (MirrorRun, error) {
	return getOne[MirrorRun](ctx, q, `SELECT * FROM mirror_run WHERE id = ?`, id)
}

// MirrorRuns lists the runs of a source, newest first, with their total count.
func (q *Queries) MirrorRuns(ctx context.Context, sourceID string, p Page) ([]MirrorRun, int, error) {
	w := whereOf(`source_id = ?`, sourceID)
	return pageOf[MirrorRun](ctx, q, `*`, `mirror_run`, w, `id DESC`, p)
}

// LastMirrorRuns finds the last run of each source that ran.
func (q *Queries) LastMirrorRuns(ctx context.Context) (map[string]MirrorRun, error) {
	rows, err := listOf[MirrorRun](ctx, q, `SELECT * FROM mirror_run WHERE id IN (SELECT MAX(id) FROM mirror_run GROUP BY source_id)`)
	last := make(map[string]MirrorRun, len(rows))
	for _, r := range rows {
		last[r.SourceID] = r
	}
	return last, err
}

// MirrorAside are bytes that a source gave for a version of which we have other bytes.
type MirrorAside struct {
	ID         string `db:"id"`
	SourceID   string `db:"source_id"`
	ContractID string `db:"contract_id"`
	Version    string `db:"version"`
	OriginURL  string `db:"origin_url"`
	Digest     string `db:"digest"` // SHA-256, lower-case hex
	Size       int64  `db:"size"`
	Content    []byte `db:"content"`
	FoundAt    Time   `db:"found_at"`
	SeenAt     Time   `db:"seen_at"` // when the source last gave them
	SettledAt  Time   `db:"settled_at"`
	SettledBy  string `db:"settled_by"`
	Reason     string `db:"reason"`
}

// InsertMirrorAside keeps other bytes aside; ErrConflict when they are kept.
func (tx *Tx) InsertMirrorAside(ctx context.Context, a *MirrorAside) error {
	a.ID, a.FoundAt, a.SeenAt = tx.NewID("mra"), tx.Now, tx.Now
	return tx.insert(ctx, "mirror_aside", a)
}

// SeeMirrorAside records that the source gave these other bytes again.
func (tx *Tx) SeeMirrorAside(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mirror_aside SET seen_at = ? WHERE id = ?`, tx.Now, id)
}

// SettleMirrorAside ends the alarm about other bytes; ErrConflict when that was done.
func (tx *Tx) SettleMirrorAside(ctx context.Context, id, by, reason string) error {
	err := tx.one(ctx, `UPDATE mirror_aside SET settled_at = ?, settled_by = ?, reason = ? WHERE id = ? AND settled_at IS NULL`, tx.Now, by, reason, id)
	if err == ErrNotFound {
		return ErrConflict
	}
	return err
}

// asideColumns are all but the bytes, which can be megabytes.
const asideColumns = `id, source_id, contract_id, version, origin_url, digest, size, found_at, seen_at, settled_at, settled_by, reason`

// MirrorAside finds other bytes, without them.
func (q *Queries) MirrorAside(ctx context.Context, id string) (MirrorAside, error) {
	return getOne[MirrorAside](ctx, q, `SELECT `+asideColumns+` FROM mirror_aside WHERE id = ?`, id)
}

// MirrorAsideContent reads other bytes.
func (q *Queries) MirrorAsideContent(ctx context.Context, id string) ([]byte, error) {
	return getOne[[]byte](ctx, q, `SELECT content FROM mirror_aside WHERE id = ?`, id)
}

// MirrorAsideFilter selects other bytes; empty members select all.
type MirrorAsideFilter struct {
	SourceID, ContractID, Version string
	Open, Settled                 bool
	Page
}

// MirrorAsides lists other bytes, without them, newest first, with their total count.
func (q *Queries) MirrorAsides(ctx context.Context, f MirrorAsideFilter) ([]MirrorAside, int, error) {
	w := where{}
	w.text(`source_id = ?`, f.SourceID)
	w.text(`contract_id = ?`, f.ContractID)
	w.text(`version = ?`, f.Version)
	if f.Open {
		w.add(`settled_at IS NULL`)
	}
	if f.Settled {
		w.add(`settled_at IS NOT NULL`)
	}
	return pageOf[MirrorAside](ctx, q, asideColumns, `mirror_aside`, w, `id DESC`, f.Page)
}

// CountMirrorAsides counts the alarms that are not settled, by source.
func (q *Queries) CountMirrorAsides(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT source_id AS name, COUNT(*) AS n FROM mirror_aside WHERE settled_at IS NULL GROUP BY source_id`)
}

// CountMirrorsAlarmed counts the sources that were not removed and have an alarm that is not settled.
func (q *Queries) CountMirrorsAlarmed(ctx context.Context) (int, error) {
	return getOne[int](ctx, q, `SELECT COUNT(*) FROM mirror_source WHERE removed_at IS NULL AND id IN (SELECT source_id FROM mirror_aside WHERE settled_at IS NULL)`)
}

// PruneMirrors removes runs that began before the moment given but for the last of each source, and other bytes whose alarm
// was settled before it.
func (tx *Tx) PruneMirrors(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	runs, err := tx.exec(ctx, `DELETE FROM mirror_run WHERE id IN (SELECT id FROM mirror_run WHERE id < ? AND finished_at IS NOT NULL
		AND id NOT IN (SELECT MAX(id) FROM mirror_run GROUP BY source_id) ORDER BY id LIMIT ?)`, IDAt("mrn", before.Time), limit)
	if err != nil {
		return Pruned{}, err
	}
	asides, err := tx.exec(ctx, `DELETE FROM mirror_aside WHERE id IN (SELECT id FROM mirror_aside WHERE settled_at < ? ORDER BY id LIMIT ?)`, before, limit)
	return Pruned{Rows: runs + asides, Done: runs+asides < int64(limit)}, err
}
