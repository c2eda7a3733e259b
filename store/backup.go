package store

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
)

// backupFormat is the number of the format that this program writes and reads.
const backupFormat = 1

// manifestName is the last entry of a backup.
const manifestName = "manifest.json"

// BackupManifest lists what a backup holds. It is the entry manifest.json, the last of the file.
type BackupManifest struct {
	Format        int           `json:"format"`
	Program       string        `json:"program"` // version of the program that made it
	Database      Dialect       `json:"database"`
	SchemaVersion int64         `json:"schemaVersion"`
	TakenAt       time.Time     `json:"takenAt"`     // everything committed before is in it
	SecretKeyID   string        `json:"secretKeyId"` // names the key that the secrets in it are sealed with; empty when there are none
	Tables        []BackupTable `json:"tables"`
}

// Rows is how many rows all tables have.
func (m *BackupManifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// BackupInfo is what the maker of a backup says of it.
type BackupInfo struct {
	Program     string
	SecretKeyID string
}

// WriteBackup writes all rows as of one moment to w, while the program goes on, and returns the manifest. Nobody waits for it: it
// reads one snapshot (SQLite: a read transaction, during which the WAL file grows; PostgreSQL: REPEATABLE READ). Memory
// stays flat however many rows there are.
//
// The format is a zip file with an entry tables/NAME of encoded rows a table, then manifest.json; the comment of the zip
// file is the SHA-256 of every byte before it. The rows are the same for both databases, so that a backup of one can be
// restored into the other. Secrets in it stay sealed; the key is not in it.
func WriteBackup(ctx context.Context, db *DB, w io.Writer, info BackupInfo) (BackupManifest, error) {
	m := BackupManifest{Format: backupFormat, Program: info.Program, TakenAt: db.Now().UTC(), Database: db.Dialect(), SecretKeyID: info.SecretKeyID}
	err := db.Snapshot(ctx, func(tx *sqlx.Tx) error { return writeTables(ctx, tx, w, &m) })
	if err != nil {
		return BackupManifest{}, fmt.Errorf("back up: %w", err)
	}
	return m, nil
}

func writeTables(ctx context.Context, tx *sqlx.Tx, w io.Writer, m *BackupManifest) error {
	if err := tx.GetContext(ctx, &m.SchemaVersion, `SELECT MAX(version_id) FROM goose_db_version`); err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	tables, err := knownSchema(ctx, m.SchemaVersion)
	if err != nil {
		return err
	}
	m.Tables = tables
	seal := newSealer(w)
	archive := zip.NewWriter(seal)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for i := range tables {
		if err := writeTable(ctx, tx, archive, &tables[i]); err != nil {
			return fmt.Errorf("table %s: %w", tables[i].Name, err)
		}
	}
	return finishArchive(archive, seal, m)
}

// knownSchema is schemaAt for a version that this program can know.
func knownSchema(ctx context.Context, version int64) ([]BackupTable, error) {
	target, err := NewestSchema()
	if err != nil {
		return nil, err
	}
	if version < 1 || version > target {
		return nil, fmt.Errorf("%w: schema version %d, this program knows 1 to %d", ErrOtherVersion, version, target)
	}
	return schemaAt(ctx, version)
}

func writeTable(ctx context.Context, tx *sqlx.Tx, archive *zip.Writer, t *BackupTable) error {
	w, err := archive.Create("tables/" + t.Name)
	if err != nil {
		return err
	}
	counted, err := readRows(ctx, tx, *t, w)
	t.Rows, t.Digest = counted.rows, counted.digest()
	return err
}

// readRows writes the rows of a table to w and counts them.
func readRows(ctx context.Context, q sqlx.QueryerContext, t BackupTable, w io.Writer) (tally, error) {
	var counted tally
	rows, err := q.QueryxContext(ctx, `SELECT `+t.columnList()+` FROM `+t.Name)
	if err != nil {
		return counted, err
	}
	defer rows.Close()
	values, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range values {
		into[i] = &values[i]
	}
	var row []byte
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return counted, err
		}
		row = row[:0]
		for i, c := range t.Columns {
			if row, err = appendValue(row, c.Kind, values[i]); err != nil {
				return counted, fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		counted.add(row)
		if _, err := w.Write(row); err != nil {
			return counted, err
		}
	}
	return counted, rows.Err()
}

// finishArchive writes the manifest and the digest of everything.
func finishArchive(archive *zip.Writer, seal *sealer, m *BackupManifest) error {
	w, err := archive.Create(manifestName)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	if err := archive.SetComment(sealPlace); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return seal.close()
}

// sameColumns reports whether two descriptions are of the same table.
func (t *BackupTable) sameColumns(o BackupTable) bool {
	return t.Name == o.Name && slices.Equal(t.Columns, o.Columns)
}
