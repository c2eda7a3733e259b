// Package backup writes all rows of a database into one file and makes a database of it again, of either kind.
//
// A backup holds what was committed at one moment, and a checksum, without which none is restored. Secrets in it stay sealed;
// the key that opens them is not in it and has to be stored apart.
package backup

import (
	"archive/zip"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"schakel/store"
)

// backupFormat numbers the format that this program writes and reads.
const backupFormat = 1

// manifestName names the last entry of a backup.
const manifestName = "manifest.json"

// Manifest lists what a backup holds. It is the entry manifest.json, the last of the file.
type Manifest struct {
	Format        int           `json:"format"`
	Program       string        `json:"program"` // version of the program that made it
	Database      store.Dialect `json:"database"`
	SchemaVersion int64         `json:"schemaVersion"`
	TakenAt       time.Time     `json:"takenAt"`     // everything committed before is in it
	SecretKeyID   string        `json:"secretKeyId"` // names the key that the secrets in it are sealed with; empty when there are none
	Tables        []Table       `json:"tables"`
}

// Rows counts the rows of all tables.
func (m *Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// Info describes the maker of a backup.
type Info struct {
	Program     string
	SecretKeyID string
}

// Write writes all rows as of one moment to w, while the program goes on, and returns the manifest. It holds nobody up: it
// reads one snapshot (SQLite: a read transaction, during which the WAL file grows; PostgreSQL: REPEATABLE READ). Memory
// stays flat however many rows there are.
//
// The format is a zip file with an entry tables/NAME of encoded rows a table, then manifest.json; the comment of the zip
// file is the SHA-256 of every byte before it. The rows are the same for both databases, so that a backup of one can be
// restored into the other. Secrets in it stay sealed; the key is not in it.
func Write(ctx context.Context, db *store.DB, w io.Writer, info Info) (Manifest, error) {
	m := Manifest{Format: backupFormat, Program: info.Program, TakenAt: db.Now().UTC(), Database: db.Dialect(), SecretKeyID: info.SecretKeyID}
	err := snapshot(ctx, db, func(tx *sqlx.Tx) error { return writeTables(ctx, tx, w, &m) })
	if err != nil {
		return Manifest{}, fmt.Errorf("back up: %w", err)
	}
	return m, nil
}

// snapshot runs fn in a transaction that sees the database as it was at its first statement.
func snapshot(ctx context.Context, db *store.DB, fn func(tx *sqlx.Tx) error) error {
	var o *sql.TxOptions // SQLite: the connections that read are read only, and every transaction of the WAL is a Snapshot
	if db.Dialect() == store.Postgres {
		o = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := reader(db).BeginTxx(ctx, o)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	return fn(tx)
}

func reader(db *store.DB) *sqlx.DB { read, _ := db.Pools(); return read }

func writer(db *store.DB) *sqlx.DB { _, write := db.Pools(); return write }

func writeTables(ctx context.Context, tx *sqlx.Tx, w io.Writer, m *Manifest) error {
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

// knownSchema returns schemaAt of a version that this program can know.
func knownSchema(ctx context.Context, version int64) ([]Table, error) {
	target, err := store.NewestSchema()
	if err != nil {
		return nil, err
	}
	if version < 1 || version > target {
		return nil, fmt.Errorf("%w: schema version %d, this program knows 1 to %d", ErrOtherVersion, version, target)
	}
	return schemaAt(ctx, version)
}

func writeTable(ctx context.Context, tx *sqlx.Tx, archive *zip.Writer, t *Table) error {
	w, err := archive.Create("tables/" + t.Name)
	if err != nil {
		return err
	}
	counted, err := readRows(ctx, tx, *t, w)
	t.Rows, t.Digest = counted.rows, counted.digest()
	return err
}

// readRows writes the rows of a table to w and counts them.
func readRows(ctx context.Context, q sqlx.QueryerContext, t Table, w io.Writer) (tally, error) {
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
func finishArchive(archive *zip.Writer, seal *sealer, m *Manifest) error {
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
func (t *Table) sameColumns(o Table) bool {
	return t.Name == o.Name && slices.Equal(t.Columns, o.Columns)
}
