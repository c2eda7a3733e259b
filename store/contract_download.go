package store

import (
	"context"
	"fmt"
	"time"
)

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
	w := where{}
	w.add(`version_id = ?`, versionID)
	w.text(`partner_id = ?`, partnerID)
	var rows []ContractDownload
	return rows, q.list(ctx, &rows, `SELECT * FROM contract_download`+w.sql()+` ORDER BY last_at DESC, reader_kind, reader_id`, w.args...)
}

// AnonymousDownloads counts how often a version was fetched, by anonymous readers, on the day of a moment and after.
func (q *Queries) AnonymousDownloads(ctx context.Context, versionID string, since Time) (int64, error) {
	var n int64
	return n, q.get(ctx, &n, `SELECT COALESCE(CAST(SUM(downloads) AS BIGINT), 0) FROM contract_download_day WHERE version_id = ? AND day >= ?`,
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
