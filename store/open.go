package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the PostgreSQL driver "pgx"
	"github.com/jmoiron/sqlx"
	"github.com/mattn/go-sqlite3"
)

//go:embed migrations
var migrations embed.FS

// Options of an open database. Each has a default.
type Options struct {
	// Now is the clock; default time.Now. Tests inject their own.
	Now func() time.Time
	// MaxReaders bounds the connections that read; default 4 per core, at least 8. On PostgreSQL it bounds all.
	MaxReaders int
	// Alone makes Open fail with ErrInUse when another process has the SQLite file open as its own; default false. On PostgreSQL
	// it means nothing: there nodes share the work.
	Alone bool
}

// Open opens "sqlite:PATH" or "postgres://…". It creates the file's folder, but no tables: see Migrate.
func Open(ctx context.Context, database string, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxReaders == 0 {
		o.MaxReaders = max(8, 4*runtime.NumCPU())
	}
	db := &DB{now: o.Now, ids: newIDSource(), dsn: database, texts: newTexts(), cursors: newCursors(), living: new(atomic.Pointer[[]string])}
	var err error
	switch {
	case strings.HasPrefix(database, "sqlite:"):
		err = db.openSQLite(ctx, strings.TrimPrefix(database, "sqlite:"), o)
	case strings.HasPrefix(database, "postgres://"), strings.HasPrefix(database, "postgresql://"):
		err = db.openPostgres(database, o)
	default:
		err = errors.New(`want "sqlite:PATH" or "postgres://…"`)
	}
	if err == nil {
		err = db.Ping(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", withoutPassword(database), errors.Join(err, db.closeOpened()))
	}
	return db, nil
}

// What the connections to SQLite keep in memory: pages, in KiB when negative, and prepared statements. The writer needs the
// inner pages of its indexes at hand; what a reader misses the system's own cache has.
const (
	writerCaches = "&_cache_size=-6144&_stmt_cache_size=192"
	readerCaches = "&_cache_size=-256&_stmt_cache_size=16"
)

func (db *DB) openSQLite(ctx context.Context, path string, o Options) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if o.Alone {
		var err error
		if db.lock, err = takeAlone(path); err != nil {
			return err
		}
	}
	if err := makePrivate(path); err != nil {
		return err
	}
	// FULL, because go-sqlite3's own default loses acknowledged rows at a power cut; immediate, because a
	// transaction that reads first and then writes would fail half the time under load.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_journal_mode=WAL&_synchronous=FULL&_foreign_keys=on&_busy_timeout=" + strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	var err error
	if db.write, err = sqlx.Open("sqlite3", dsn+"&_txlock=immediate"+writerCaches); err != nil {
		return err
	}
	db.write.SetMaxOpenConns(1)
	if err := db.openLog(ctx); err != nil {
		return err
	}
	if db.read, err = sqlx.Open("sqlite3", dsn+"&_query_only=on"+readerCaches); err != nil {
		return err
	}
	db.readers = o.MaxReaders
	db.read.SetMaxOpenConns(o.MaxReaders)
	db.read.SetMaxIdleConns(o.MaxReaders)
	db.Queries = Queries{ext: db.read, dialect: SQLite}
	return nil
}

func (db *DB) openPostgres(dsn string, o Options) error {
	pool, err := openPool(dsn)
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(o.MaxReaders)
	pool.SetMaxIdleConns(o.MaxReaders)
	db.read, db.write = pool, pool
	db.Queries = Queries{ext: pool, dialect: Postgres}
	return nil
}

// conflict turns a broken uniqueness of either database into ErrConflict.
func conflict(err error) error {
	var s sqlite3.Error
	if errors.As(err, &s) && (s.ExtendedCode == sqlite3.ErrConstraintUnique || s.ExtendedCode == sqlite3.ErrConstraintPrimaryKey) {
		return fmt.Errorf("%w: %s", ErrConflict, s.Error())
	}
	var p *pgconn.PgError
	if errors.As(err, &p) && p.Code == "23505" {
		return fmt.Errorf("%w: %s", ErrConflict, p.ConstraintName)
	}
	return err
}

// columns lists the `db` tags of a row's fields; a tag with ",-" is read only.
func columns(row any) []string {
	t := reflect.TypeOf(row)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var cols []string
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("db"); tag != "" && tag != "-" {
			cols = append(cols, tag)
		}
	}
	return cols
}

// withoutPassword returns what may be shown of a database's address: nothing of one that cannot be read, for the password may be anywhere in it.
func withoutPassword(database string) string {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return "sqlite:" + path
	}
	scheme, _, found := strings.Cut(database, "://")
	u, err := url.Parse(database)
	switch {
	case err != nil && found:
		return scheme + "://…"
	case err != nil || !found:
		return database
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}
