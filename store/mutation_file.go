package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
)

// FileWriter keeps a file as it comes, in a transaction for each piece of its bytes. It is for one goroutine.
type FileWriter struct {
	ID     string
	ctx    context.Context
	db     *DB
	size   int64
	sum    hash.Hash
	piece  []byte
	number int64
	err    error
	closed bool
}

// CreateMutationFile starts a file of a dataset; ctx bounds its life. Without [FileWriter.Finish] it is removed an hour after
// its last piece, by [Tx.PruneMutationFiles].
func (db *DB) CreateMutationFile(ctx context.Context, datasetID string) (*FileWriter, error) {
	w := &FileWriter{ID: db.NewID("mfl"), ctx: ctx, db: db, sum: sha256.New(), piece: make([]byte, 0, ObjectChunk)}
	err := db.Write(ctx, func(tx *Tx) error {
		return tx.insert(ctx, "mutation_file", &MutationFile{ID: w.ID, DatasetID: datasetID, Digest: []byte{}, CreatedAt: tx.Now, TouchedAt: tx.Now})
	})
	if err != nil {
		return nil, fmt.Errorf("start file: %w", err)
	}
	return w, nil
}

// Write implements io.Writer. A file that was removed meanwhile is ErrNotFound.
func (w *FileWriter) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errors.New("write to a file that was closed")
	}
	written := 0
	for len(p) > 0 && w.err == nil {
		n := min(len(p), ObjectChunk-len(w.piece))
		w.piece = append(w.piece, p[:n]...)
		w.sum.Write(p[:n])
		p, written, w.size = p[n:], written+n, w.size+int64(n)
		if len(w.piece) == ObjectChunk {
			w.flush()
		}
	}
	return written, w.err
}

func (w *FileWriter) flush() {
	w.err = w.db.Write(w.ctx, func(tx *Tx) error {
		if err := tx.one(w.ctx, `UPDATE mutation_file SET touched_at = ? WHERE id = ? AND gone_at IS NULL`, tx.Now, w.ID); err != nil {
			return err
		}
		_, err := tx.exec(w.ctx, `INSERT INTO mutation_chunk (file_id, number, data) VALUES (?, ?, ?)`, w.ID, w.number, w.piece)
		return err
	})
	if w.err != nil {
		w.err = fmt.Errorf("keep file: %w", w.err)
	}
	w.number++
	w.piece = w.piece[:0]
}

// Close implements io.Closer: it keeps the last piece.
func (w *FileWriter) Close() error {
	if !w.closed && w.err == nil && len(w.piece) > 0 {
		w.flush()
	}
	w.closed = true
	return w.err
}

// Finish makes a closed file one that stays, in the transaction of what refers to it. One that was removed meanwhile is
// ErrNotFound.
func (w *FileWriter) Finish(ctx context.Context, tx *Tx) (MutationFile, error) {
	if !w.closed || w.err != nil {
		return MutationFile{}, errors.Join(errors.New("the file is not whole"), w.err)
	}
	err := tx.one(ctx, `UPDATE mutation_file SET size = ?, digest = ?, finished_at = ?, touched_at = ? WHERE id = ? AND gone_at IS NULL`,
		w.size, w.sum.Sum(nil), tx.Now, tx.Now, w.ID)
	if err != nil {
		return MutationFile{}, fmt.Errorf("finish file: %w", err)
	}
	return tx.MutationFile(ctx, w.ID)
}

// MutationFile finds a file.
func (q *Queries) MutationFile(ctx context.Context, id string) (MutationFile, error) {
	return getOne[MutationFile](ctx, q, `SELECT * FROM mutation_file WHERE id = ?`, id)
}

// OpenMutationFile makes a reader of the bytes of a file; ctx bounds its life.
func (q *Queries) OpenMutationFile(ctx context.Context, f MutationFile) *ObjectReader {
	return &ObjectReader{ctx: ctx, q: q, id: f.ID, size: f.Size, pieces: `SELECT data FROM mutation_chunk WHERE file_id = ? AND number = ?`}
}

// DropMutationFile marks a file as not needed any more. Its bytes go in small steps by [Tx.PruneMutationFiles].
func (tx *Tx) DropMutationFile(ctx context.Context, id string) error {
	return tx.one(ctx, `UPDATE mutation_file SET gone_at = ? WHERE id = ? AND gone_at IS NULL`, tx.Now, id)
}

// orphanFile sets how long a file on its way in may be still.
const orphanFile = orphanObject

// PruneMutationFiles removes, as of now, the bytes of files that were dropped, or that are on their way in and nobody works
// at any more, and then their rows.
func (tx *Tx) PruneMutationFiles(ctx context.Context, now Time, _ string, limit int) (Pruned, error) {
	id, err := getOne[string](ctx, &tx.Queries, `SELECT id FROM mutation_file WHERE gone_at IS NOT NULL OR (finished_at IS NULL AND touched_at <= ?) ORDER BY id LIMIT 1`,
		At(now.Add(-orphanFile)))
	if errors.Is(err, ErrNotFound) {
		return Pruned{Done: true}, nil
	}
	if err != nil {
		return Pruned{}, fmt.Errorf("find file: %w", err)
	}
	if _, err := tx.exec(ctx, `UPDATE mutation_file SET gone_at = ? WHERE id = ? AND gone_at IS NULL`, now, id); err != nil {
		return Pruned{}, fmt.Errorf("mark file: %w", err)
	}
	limit = min(limit, pruneChunks)
	n, err := tx.exec(ctx, `DELETE FROM mutation_chunk WHERE file_id = ? AND number IN
		(SELECT number FROM mutation_chunk WHERE file_id = ? ORDER BY number DESC LIMIT ?)`, id, id, limit)
	if err == nil && n < int64(limit) {
		_, err = tx.exec(ctx, `DELETE FROM mutation_file WHERE id = ?`, id)
		n++
	}
	if err != nil {
		return Pruned{}, fmt.Errorf("remove file: %w", err)
	}
	return Pruned{Rows: n}, nil
}

// downloadFacts lists the columns of a download d but its manifest and its geofilter, which may have megabytes.
const downloadFacts = `d.id, d.dataset_id, d.partner_id, d.subscription_id, d.requested_by, d.delta_id, d.snapshot_id, d.area_id, d.object_types, d.lineage,
	d.status, d.progress, d.error, d.file_id, d.bytes, d.sha256, d.owner, d.lease_until, d.created_at, d.finished_at, d.announced_at, d.gone_at`

// MutationDownloadsOver lists downloads that are there and are over: what was asked for and ended before a moment, and what was
// made for a subscription of a delta or snapshot that is gone. What they have of manifests and geofilters is left out.
func (q *Queries) MutationDownloadsOver(ctx context.Context, before Time, limit int) ([]MutationDownload, error) {
	return listOf[MutationDownload](ctx, q, `SELECT `+downloadFacts+` FROM mutation_download d
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
// snapshotID name its origin.
func (q *Queries) MutationFileInUse(ctx context.Context, fileID, deltaID, snapshotID string) (bool, error) {
	w := MutationDownloadKey{DeltaID: deltaID, SnapshotID: snapshotID}.source()
	w.add(`file_id = ? AND gone_at IS NULL`, fileID)
	n, err := getOne[int](ctx, q, `SELECT (SELECT COUNT(*) FROM mutation_delta WHERE id = ? AND file_id = ? AND gone_at IS NULL)
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

// TouchMutationFile records that a file is still on its way in, though no piece of it came.
func (tx *Tx) TouchMutationFile(ctx context.Context, id string) error {
	return tx.do(ctx, `UPDATE mutation_file SET touched_at = ? WHERE id = ?`, tx.Now, id)
}

// PruneMutationDownloads removes what is known of downloads that were gone before the moment given.
func (tx *Tx) PruneMutationDownloads(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM mutation_download WHERE id IN (SELECT id FROM mutation_download WHERE gone_at < ? ORDER BY gone_at LIMIT ?)`, before, limit)
	return Pruned{Rows: n, Done: n < int64(limit)}, err
}
