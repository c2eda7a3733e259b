package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"schakel/store"
)

// ErrNotEmpty is returned when there is something already where a backup should be restored to.
var ErrNotEmpty = errors.New("a backup is only restored into a new database")

// Restore makes a database of the backup: a new file for "sqlite:PATH", an empty database for "postgres://…", whichever of
// the two it was made of. It reads every row back and compares before it counts as done; then it brings the tables to
// this program's version and releases the leases of the dead process, so that deliveries go on. Logins end.
//
// When it fails or is killed there is no file at PATH, or no row in the PostgreSQL database.
func (b *File) Restore(ctx context.Context, database string, o store.Options) error {
	if _, err := b.schema(ctx); err != nil {
		return err
	}
	var err error
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		err = MakeSQLite(ctx, path, o, func(ctx context.Context, made string) error { return b.fillSQLite(ctx, made, o) })
	} else {
		err = b.restorePostgres(ctx, database, o)
	}
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// MakeSQLite has fill make a database in a file beside path, brings its tables to this version, ends what the process that worked on it was
// doing, checks it, and puts it at path, where nothing may be. When it fails or is killed there is no file at path.
func MakeSQLite(ctx context.Context, path string, o store.Options, fill func(ctx context.Context, made string) error) error {
	if err := nothingAt(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	dir := path + ".restoring"
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("%w: if no other restore is at work, one was broken off: remove that folder and try again", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "schakel.db")
	if err := fill(ctx, made); err != nil {
		return err
	}
	db, err := store.Open(ctx, "sqlite:"+made, o)
	if err != nil {
		return err
	}
	if err := errors.Join(finishSQLite(ctx, db), db.Close()); err != nil {
		return err
	}
	return putInPlace(made, path)
}

func finishSQLite(ctx context.Context, db *store.DB) error {
	if err := afterRestore(ctx, db); err != nil {
		return err
	}
	return checkIntegrity(ctx, db)
}

// nothingAt refuses a path where a database, or what belongs to one, is.
func nothingAt(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		_, err := os.Lstat(path + suffix)
		if err == nil {
			return fmt.Errorf("%w, and there is a file %s: move it away first, or name another --database", ErrNotEmpty, path+suffix)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (b *File) fillSQLite(ctx context.Context, path string, o store.Options) error {
	db, err := store.Open(ctx, "sqlite:"+path, o)
	if err != nil {
		return err
	}
	return errors.Join(b.fillOpenSQLite(ctx, db), db.Close())
}

func (b *File) fillOpenSQLite(ctx context.Context, db *store.DB) error {
	if err := db.MigrateTo(ctx, b.Manifest.SchemaVersion); err != nil {
		return err
	}
	// Until it is whole nobody relies on this file; putInPlace brings it to the disk.
	if _, err := writer(db).ExecContext(ctx, `PRAGMA synchronous = OFF`); err != nil {
		return err
	}
	if err := b.loadSQLite(ctx, db); err != nil {
		return err
	}
	return b.compareWith(ctx, writer(db))
}

// checkIntegrity has SQLite examine its file and every reference between tables.
func checkIntegrity(ctx context.Context, db *store.DB) error {
	var said string
	if err := writer(db).GetContext(ctx, &said, `SELECT group_concat(integrity_check) FROM pragma_integrity_check`); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("the restored file is not sound: %s", said)
	}
	var broken int
	if err := writer(db).GetContext(ctx, &broken, `SELECT COUNT(*) FROM pragma_foreign_key_check`); err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("%d restored rows refer to rows that are not there", broken)
	}
	return nil
}

// afterRestore brings the tables to this version and ends what the process that made the backup was doing.
func afterRestore(ctx context.Context, db *store.DB) error {
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	return db.Write(ctx, func(tx *store.Tx) error { return tx.EndRestored(ctx) })
}

// putInPlace brings the file to the disk and gives it its name; it never replaces another.
func putInPlace(made, path string) error {
	if err := syncPath(made); err != nil {
		return err
	}
	if err := os.Link(made, path); err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// loadStep bounds the rows that one transaction of SQLite loads, so that its WAL stays small.
const loadStep = 10_000

// loadSQLite writes all rows into empty tables.
func (b *File) loadSQLite(ctx context.Context, db *store.DB) error {
	tx, err := writer(db).BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := emptyTables(ctx, tx, b.Manifest.Tables); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, t := range b.Manifest.Tables {
		l := &loader{db: db, query: `INSERT INTO ` + t.Name + ` (` + t.columnList() + `) VALUES (?` + strings.Repeat(`, ?`, len(t.Columns)-1) + `)`}
		err := b.each(ctx, t, func(values []any) error { return l.add(ctx, values) })
		if err == nil {
			err = l.commit()
		}
		if err != nil {
			l.rollback()
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// emptyTables removes the rows that migrations write.
func emptyTables(ctx context.Context, tx *sqlx.Tx, tables []Table) error {
	for _, t := range slices.Backward(tables) {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+t.Name); err != nil {
			return fmt.Errorf("empty table %s: %w", t.Name, err)
		}
	}
	return nil
}

// loader inserts rows of one table, many in a transaction.
type loader struct {
	db    *store.DB
	query string
	tx    *sqlx.Tx
	stmt  *sqlx.Stmt
	rows  int
}

func (l *loader) add(ctx context.Context, values []any) (err error) {
	if l.tx == nil {
		if l.tx, err = writer(l.db).BeginTxx(ctx, nil); err != nil {
			return err
		}
		if l.stmt, err = l.tx.PreparexContext(ctx, l.query); err != nil {
			return err
		}
	}
	// A context that can end costs the driver a goroutine a row; the reader of the backup minds it already.
	if _, err := l.stmt.ExecContext(context.WithoutCancel(ctx), values...); err != nil {
		return err
	}
	if l.rows++; l.rows%loadStep == 0 {
		return l.commit()
	}
	return nil
}

func (l *loader) commit() error {
	if l.tx == nil {
		return nil
	}
	tx := l.tx
	l.tx = nil
	return tx.Commit()
}

func (l *loader) rollback() {
	if l.tx != nil {
		_ = l.tx.Rollback()
	}
}

// compareWith reads every row back and checks that the database now holds what the backup holds.
func (b *File) compareWith(ctx context.Context, q sqlx.QueryerContext) error {
	for _, t := range b.Manifest.Tables {
		counted, err := readRows(ctx, q, t, io.Discard)
		if err != nil {
			return fmt.Errorf("read back table %s: %w", t.Name, err)
		}
		if counted.rows != t.Rows || counted.digest() != t.Digest {
			return fmt.Errorf("read back table %s: %d rows that are not the %d of the backup", t.Name, counted.rows, t.Rows)
		}
	}
	return nil
}
