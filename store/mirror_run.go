package store

import "context"

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
	var r MirrorRun
	return r, q.get(ctx, &r, `SELECT * FROM mirror_run WHERE id = ?`, id)
}

// MirrorRuns lists the runs of a source, newest first, with their total count.
func (q *Queries) MirrorRuns(ctx context.Context, sourceID string, p Page) ([]MirrorRun, int, error) {
	w := where{}
	w.add(`source_id = ?`, sourceID)
	var rows []MirrorRun
	total, err := q.page(ctx, &rows, `*`, `mirror_run`, w, `id DESC`, p)
	return rows, total, err
}

// LastMirrorRuns finds the last run of each source that ran.
func (q *Queries) LastMirrorRuns(ctx context.Context) (map[string]MirrorRun, error) {
	var rows []MirrorRun
	err := q.list(ctx, &rows, `SELECT * FROM mirror_run WHERE id IN (SELECT MAX(id) FROM mirror_run GROUP BY source_id)`)
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
	var a MirrorAside
	return a, q.get(ctx, &a, `SELECT `+asideColumns+` FROM mirror_aside WHERE id = ?`, id)
}

// MirrorAsideContent reads other bytes.
func (q *Queries) MirrorAsideContent(ctx context.Context, id string) ([]byte, error) {
	var content []byte
	return content, q.get(ctx, &content, `SELECT content FROM mirror_aside WHERE id = ?`, id)
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
	var rows []MirrorAside
	total, err := q.page(ctx, &rows, asideColumns, `mirror_aside`, w, `id DESC`, f.Page)
	return rows, total, err
}

// CountMirrorAsides counts the alarms that are not settled, by source.
func (q *Queries) CountMirrorAsides(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT source_id AS name, COUNT(*) AS n FROM mirror_aside WHERE settled_at IS NULL GROUP BY source_id`)
}

// CountMirrorsAlarmed counts the sources that were not removed and have an alarm that is not settled.
func (q *Queries) CountMirrorsAlarmed(ctx context.Context) (int, error) {
	var n int
	return n, q.get(ctx, &n, `SELECT COUNT(*) FROM mirror_source WHERE removed_at IS NULL AND id IN (SELECT source_id FROM mirror_aside WHERE settled_at IS NULL)`)
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
