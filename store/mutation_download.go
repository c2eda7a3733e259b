package store

import (
	"context"
	"errors"
)

// InsertMutationDownload asks for a download; it waits until a node makes it, unless it is completed already.
func (tx *Tx) InsertMutationDownload(ctx context.Context, d *MutationDownload) error {
	d.CreatedAt = tx.Now
	if d.Status == "" {
		d.Status = MutationPending
	}
	return tx.insert(ctx, "mutation_download", d)
}

// MutationDownload finds a download, also one that is gone.
func (q *Queries) MutationDownload(ctx context.Context, id string) (MutationDownload, error) {
	return getOne[MutationDownload](ctx, q, `SELECT * FROM mutation_download WHERE id = ?`, id)
}

// WaitingMutationDownloads counts the downloads that a partner asked for, besides its subscriptions, and that are not ready.
func (q *Queries) WaitingMutationDownloads(ctx context.Context, partnerID string) (int, error) {
	return getOne[int](ctx, q, `SELECT COUNT(*) FROM mutation_download WHERE status IN ('pending', 'running') AND partner_id = ? AND requested_by <> ''`, partnerID)
}

// keptDownload selects the downloads that somebody asked for and that take room: those that are ready or failed.
const keptDownload = ` FROM mutation_download d WHERE d.requested_by <> '' AND d.status NOT IN ('pending', 'running') AND d.gone_at IS NULL`

// requestRoom counts the bytes of a download d without its file.
const requestRoom = `4096 + octet_length(d.geofilter) + octet_length(d.manifest)`

// KeptMutationDownloads returns how many bytes are kept for what a partner asked for besides its subscriptions: of each download
// its manifest, its geofilter and 4096 besides, and each file once, unless it is there for a delta or snapshot besides.
func (q *Queries) KeptMutationDownloads(ctx context.Context, partnerID string) (int64, error) {
	const of = keptDownload + ` AND d.partner_id = ?`
	return getOne[int64](ctx, q, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM (SELECT SUM(`+requestRoom+`) AS bytes`+of+`
		UNION ALL SELECT SUM(bytes) FROM (SELECT DISTINCT d.file_id, d.bytes`+of+`
		AND NOT EXISTS (SELECT 1 FROM mutation_delta t WHERE t.id = d.delta_id AND t.file_id = d.file_id AND t.gone_at IS NULL)
		AND NOT EXISTS (SELECT 1 FROM mutation_snapshot s WHERE s.id = d.snapshot_id AND s.file_id = d.file_id AND s.gone_at IS NULL)) f) k`, partnerID, partnerID)
}

// OldestKeptMutationDownload finds the download that ended first, of those that KeptMutationDownloads counts. What it has of
// a manifest and a geofilter is left out.
func (q *Queries) OldestKeptMutationDownload(ctx context.Context, partnerID string) (MutationDownload, error) {
	return getOne[MutationDownload](ctx, q, `SELECT `+downloadFacts+keptDownload+` AND d.partner_id = ? ORDER BY d.finished_at, d.id LIMIT 1`, partnerID)
}

// PartnersKeepingDownloads lists the partners for which more bytes may be kept of what they asked for than given.
func (q *Queries) PartnersKeepingDownloads(ctx context.Context, most int64) ([]string, error) {
	return listOf[string](ctx, q, `SELECT d.partner_id`+keptDownload+` GROUP BY d.partner_id HAVING SUM(d.bytes + `+requestRoom+`) > ? ORDER BY d.partner_id`, most)
}

// MutationDownloadKey names the downloads that have the same bytes: of the same delta or snapshot, with the same filter, and with
// deltas named alike.
type MutationDownloadKey struct{ DeltaID, SnapshotID, Lineage, Mark string }

func (k MutationDownloadKey) where() where {
	w := k.source()
	w.text(`lineage = ?`, k.Lineage)
	w.add(`mark = ?`, k.Mark)
	return w
}

// source takes all downloads of the delta or snapshot.
func (k MutationDownloadKey) source() where {
	w := where{}
	if k.DeltaID != "" { // one of them alone, so that its index is taken
		w.add(`delta_id = ?`, k.DeltaID)
	} else {
		w.add(`snapshot_id = ?`, k.SnapshotID)
	}
	return w
}

// SubscribedDownload finds the newest download that was made because a subscription is bounded.
func (q *Queries) SubscribedDownload(ctx context.Context, k MutationDownloadKey, subscriptionID string) (MutationDownload, error) {
	w := k.where()
	w.add(`subscription_id = ?`, subscriptionID)
	w.add(`requested_by = ''`)
	return getOne[MutationDownload](ctx, q, `SELECT * FROM mutation_download`+w.sql()+` ORDER BY created_at DESC, id LIMIT 1`, w.args...)
}

// SameMutationDownload finds a completed download whose file can be shared.
func (q *Queries) SameMutationDownload(ctx context.Context, k MutationDownloadKey) (MutationDownload, error) {
	w := k.where()
	w.add(`status = ?`, MutationCompleted)
	w.add(`gone_at IS NULL`)
	return getOne[MutationDownload](ctx, q, `SELECT * FROM mutation_download`+w.sql()+` ORDER BY created_at, id LIMIT 1`, w.args...)
}

// ClaimMutationDownload gives the oldest download that waits, or whose node died, to owner until lease; those of subscriptions
// go before what was asked for besides. One with the bytes of a download that is being made waits for that. ErrNotFound when
// there is nothing to do.
func (tx *Tx) ClaimMutationDownload(ctx context.Context, owner string, lease Time) (MutationDownload, error) {
	lock := ""
	if tx.dialect == Postgres {
		lock = ` FOR UPDATE OF d SKIP LOCKED`
	}
	d, err := getOne[MutationDownload](ctx, &tx.Queries, `SELECT d.* FROM mutation_download d WHERE d.status IN ('pending', 'running') AND (d.lease_until IS NULL OR d.lease_until <= ?)
		AND NOT EXISTS (SELECT 1 FROM mutation_download o WHERE o.delta_id = d.delta_id AND o.snapshot_id = d.snapshot_id AND o.lineage = d.lineage
			AND o.id <> d.id AND o.status = 'running' AND o.lease_until > ?)
		ORDER BY d.requested_by <> '', d.created_at, d.id LIMIT 1`+lock, tx.Now, tx.Now)
	if err != nil {
		return d, err
	}
	d.Status, d.Owner, d.LeaseUntil, d.Progress = MutationRunning, owner, lease, 0
	return d, tx.one(ctx, `UPDATE mutation_download SET status = ?, owner = ?, lease_until = ?, progress = 0 WHERE id = ?`, d.Status, owner, lease, d.ID)
}

// KeepMutationDownload extends the lease of owner on a download and records its progress, of 100. ErrLeaseLost when
// another node has it.
func (tx *Tx) KeepMutationDownload(ctx context.Context, id, owner string, lease Time, progress int64) error {
	err := tx.one(ctx, `UPDATE mutation_download SET lease_until = ?, progress = ? WHERE id = ? AND owner = ? AND status = ?`, lease, progress, id, owner, MutationRunning)
	return lost(err)
}

// EndMutationDownload writes what came of a download, completed or failed, in the transaction that finishes its file.
// ErrLeaseLost when another node has it: nothing may be kept then.
func (tx *Tx) EndMutationDownload(ctx context.Context, d *MutationDownload) error {
	d.FinishedAt = tx.Now
	if d.Status == MutationCompleted {
		d.Progress = 100
	}
	err := tx.one(ctx, `UPDATE mutation_download SET status = ?, progress = ?, error = ?, manifest = ?, file_id = ?, bytes = ?, sha256 = ?, finished_at = ?,
		lease_until = NULL WHERE id = ? AND owner = ? AND status = ?`,
		d.Status, d.Progress, d.Error, d.Manifest, d.FileID, d.Bytes, d.SHA256, d.FinishedAt, d.ID, d.Owner, MutationRunning)
	return lost(err)
}

// LetGoOfMutationDownload gives back a download that owner does not finish, so that another node does.
func (tx *Tx) LetGoOfMutationDownload(ctx context.Context, id, owner string) error {
	return tx.do(ctx, `UPDATE mutation_download SET status = ?, lease_until = NULL WHERE id = ? AND owner = ? AND status = ?`,
		MutationPending, id, owner, MutationRunning)
}

func lost(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrLeaseLost
	}
	return err
}

// MutationDownloadsToTell lists the filtered deltas of subscriptions to a dataset that are ready and were not announced,
// oldest delta first. What they have of manifests and geofilters is left out.
func (q *Queries) MutationDownloadsToTell(ctx context.Context, datasetID string, limit int) ([]MutationDownload, error) {
	return listOf[MutationDownload](ctx, q, `SELECT `+downloadFacts+` FROM mutation_download d JOIN mutation_delta t ON t.id = d.delta_id WHERE d.dataset_id = ?
		AND d.status = 'completed' AND d.announced_at IS NULL AND d.requested_by = '' ORDER BY t.number, d.id LIMIT ?`, datasetID, limit)
}

// TellMutationDownload notes that a download was announced.
func (tx *Tx) TellMutationDownload(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_download SET announced_at = COALESCE(announced_at, ?) WHERE id = ?`, tx.Now, id)
}

// MutationDownloadFilter selects downloads, newest first; empty members select all.
type MutationDownloadFilter struct {
	DatasetID, PartnerID, SubscriptionID string
	Statuses                             []string
	There                                bool // leaves out those that are gone
	Page
}

// MutationDownloads lists downloads, newest first, with their total count.
func (q *Queries) MutationDownloads(ctx context.Context, f MutationDownloadFilter) ([]MutationDownload, int, error) {
	w := where{}
	w.text(`dataset_id = ?`, f.DatasetID)
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`subscription_id = ?`, f.SubscriptionID)
	w.in(`status`, f.Statuses)
	if f.There {
		w.add(`gone_at IS NULL`)
	}
	return pageOf[MutationDownload](ctx, q, `*`, `mutation_download`, w, `created_at DESC, id`, f.Page)
}

// CountMutationDownloads counts downloads whose bytes are there, or will be, by status.
func (q *Queries) CountMutationDownloads(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT status AS name, COUNT(*) AS n FROM mutation_download WHERE gone_at IS NULL GROUP BY status`)
}
