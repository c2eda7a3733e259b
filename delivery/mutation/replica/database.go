package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL
	"github.com/jmoiron/sqlx"
	_ "github.com/mattn/go-sqlite3" // the driver of SQLite
)

type database struct {
	*sqlx.DB
	postgres bool
}

// databaseError is an error of the database, as opposed to one of a delivery.
type databaseError struct{ error }

func (e *databaseError) Unwrap() error { return e.error }

func inDatabase(what string, err error) error {
	if err == nil {
		return nil
	}
	return &databaseError{fmt.Errorf("%s: %w", what, err)}
}

// sqliteOptions configures the connection that writes. In the log (WAL) a transaction is there whole or not at all after
// any crash; with NORMAL a power cut may take the last ones, which are then done again, and no commit waits for the disk.
const sqliteOptions = "?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=30000&_txlock=immediate&_cache_size=-24576&_stmt_cache_size=32"

// openDatabase opens "sqlite:PATH" or "postgres://…". A file of SQLite that is not there is made when that is asked.
func openDatabase(ctx context.Context, name string, make bool) (*database, error) {
	if err := CheckDatabase(name); err != nil {
		return nil, err
	}
	path, isFile := strings.CutPrefix(name, "sqlite:")
	shown, hint := "database", ""
	var pool *sqlx.DB
	var err error
	if isFile {
		shown, hint = "database "+path, "; the folder must be there and it and the file must be writable"
		pool, err = openSQLite(path, make)
	} else {
		pool, err = sqlx.Open("pgx", name)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", shown, err)
	}
	db := &database{DB: pool, postgres: !isFile}
	if err := pool.PingContext(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w%s", shown, errors.Join(err, pool.Close()), hint)
	}
	return db, nil
}

// CheckDatabase looks whether a text names a database: "sqlite:PATH" or "postgres://…".
func CheckDatabase(name string) error {
	path, isFile := strings.CutPrefix(name, "sqlite:")
	if isFile && path != "" || strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		return nil
	}
	return errors.New("a database is sqlite: and a path, or postgres:// and the rest of an address")
}

func openSQLite(path string, make bool) (*sqlx.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !make {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	pool, err := sqlx.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+sqliteOptions)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	_, err = pool.Exec(`PRAGMA wal_autocheckpoint=16000`)
	return pool, err
}

// rebind writes the placeholders of a statement as the database has them.
func (d *database) rebind(query string) string {
	if d.postgres {
		return sqlx.Rebind(sqlx.DOLLAR, query)
	}
	return query
}

func (d *database) inTx(ctx context.Context, do func(tx *transaction) error) error {
	tx, err := d.BeginTxx(ctx, nil)
	if err != nil {
		return inDatabase("begin", err)
	}
	if err := do(&transaction{ctx: ctx, db: d, tx: tx}); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return inDatabase("commit", tx.Commit())
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

type transaction struct {
	ctx context.Context //nolint:containedctx // it ends with the transaction
	db  *database
	tx  *sqlx.Tx
}

// changed runs a statement and counts the rows that it changed.
func (t *transaction) changed(query string, args ...any) (int64, error) {
	result, err := t.tx.ExecContext(t.ctx, t.db.rebind(query), args...)
	if err != nil {
		return 0, inDatabase("write", err)
	}
	n, err := result.RowsAffected()
	return n, inDatabase("write", err)
}

func (t *transaction) exec(query string, args ...any) error {
	_, err := t.changed(query, args...)
	return err
}

// get scans the only row of a query, and reports whether there is one.
func (t *transaction) get(query string, args []any, to ...any) (bool, error) {
	err := t.tx.QueryRowContext(t.ctx, t.db.rebind(query), args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, inDatabase("read", err)
}

func (t *transaction) each(query string, args []any, scan func(rows *sql.Rows) error) error {
	rows, err := t.tx.QueryContext(t.ctx, t.db.rebind(query), args...)
	if err != nil {
		return inDatabase("read", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return inDatabase("read", err)
		}
	}
	return inDatabase("read", rows.Err())
}
