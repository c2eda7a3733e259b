package store

import "context"

// downloadFacts are the columns of a download d but its manifest and its geofilter, which may have megabytes.
const downloadFacts = `d.id, d.dataset_id, d.partner_id, d.subscription_id, d.requested_by, d.delta_id, d.snapshot_id, d.area_id, d.object_types, d.lineage,
	d.status, d.progress, d.error, d.file_id, d.bytes, d.sha256, d.owner, d.lease_until, d.created_at, d.finished_at, d.announced_at, d.gone_at`

// MutationDownloadsOver lists downloads that are there and are over: what was asked for and ended before a moment, and what was
// made for a subscription of a delta or snapshot that is gone. What they have of manifests and geofilters is left out.
func (q *Queries) MutationDownloadsOver(ctx context.Context, before Time, limit int) ([]MutationDownload, error) {
	var rows []MutationDownload
	return rows, q.list(ctx, &rows, `SELECT `+downloadFacts+` FROM mutation_download d
		LEFT JOIN mutation_delta t ON t.id = d.delta_id LEFT JOIN mutation_snapshot s ON s.id = d.snapshot_id
		WHERE d.gone_at IS NULL AND d.status NOT IN ('pending', 'running')
		AND ((d.requested_by <> '' AND d.finished_at < ?) OR (d.requested_by = '' AND (t.gone_at IS NOT NULL OR s.gone_at IS NOT NULL)))
		ORDER BY d.created_at, d.id LIMIT ?`, before, limit)
}

// ExpireMutationDownload notes that a download is gone, and drops what may be large of it.
func (tx *Tx) ExpireMutationDownload(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_download SET gone_at = ?, manifest = '', geofilter = '' WHERE id = ? AND gone_at IS NULL`, tx.Now, id)
}

// MutationFileInUse reports whether a delta, a snapshot or a download still needs a file, which they may share. deltaID and
// snapshotID are those it was made of.
func (q *Queries) MutationFileInUse(ctx context.Context, fileID, deltaID, snapshotID string) (bool, error) {
	w := MutationDownloadKey{DeltaID: deltaID, SnapshotID: snapshotID}.source()
	w.add(`file_id = ? AND gone_at IS NULL`, fileID)
	var n int
	err := q.get(ctx, &n, `SELECT (SELECT COUNT(*) FROM mutation_delta WHERE id = ? AND file_id = ? AND gone_at IS NULL)
		+ (SELECT COUNT(*) FROM mutation_snapshot WHERE id = ? AND file_id = ? AND gone_at IS NULL)
		+ (SELECT COUNT(*) FROM mutation_download`+w.sql()+`)`, append([]any{deltaID, fileID, snapshotID, fileID}, w.args...)...)
	return n > 0, err
}

// HoldMutationFile makes sure that a file is there, and stays until the transaction ends. One that was dropped is ErrNotFound.
func (tx *Tx) HoldMutationFile(ctx context.Context, id string) error {
	if err := tx.Lock(ctx, "mutation_file", id); err != nil {
		return err
	}
	f, err := tx.MutationFile(ctx, id)
	if err == nil && !f.GoneAt.IsZero() {
		err = ErrNotFound
	}
	return err
}

// TouchMutationFile says that a file is still on its way in, though no piece of it came.
func (tx *Tx) TouchMutationFile(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, `UPDATE mutation_file SET touched_at = ? WHERE id = ?`, tx.Now, id)
	return err
}

// PruneMutationDownloads removes what is known of downloads that were gone before the moment given.
func (tx *Tx) PruneMutationDownloads(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM mutation_download WHERE id IN (SELECT id FROM mutation_download WHERE gone_at < ? ORDER BY gone_at LIMIT ?)`, before, limit)
	return Pruned{Rows: n, Done: n < int64(limit)}, err
}
