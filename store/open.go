package store

import (
	"context"
	"crypto/tls"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the PostgreSQL driver "pgx"
	"github.com/jmoiron/sqlx"
	"github.com/mattn/go-sqlite3"
	"schakel/store/pipe"
)

//go:embed migrations/*.sql migrations/*/*.sql
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
	// Seen gives, for the host and port of a PostgreSQL, what looks at each connection to it over TLS. Default nothing does.
	Seen func(address string) func(tls.ConnectionState) error
}

// Open opens "sqlite:PATH" or "postgres://…". It creates the file's folder, but no tables: see Migrate.
func Open(ctx context.Context, database string, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxReaders == 0 {
		o.MaxReaders = max(8, 4*runtime.NumCPU())
	}
	db := &DB{now: o.Now, ids: newIDSource(), texts: newTexts(), cursors: newCursors(), living: new(atomic.Pointer[[]string])}
	var err error
	switch {
	case strings.HasPrefix(database, "sqlite:"):
		err = db.openSQLite(ctx, strings.TrimPrefix(database, "sqlite:"), o)
	case strings.HasPrefix(database, "postgres://"), strings.HasPrefix(database, "postgresql://"):
		err = db.openPostgres(database, o)
	default:
		err = errors.New(`want "sqlite:PATH" or "postgres://…"`)
	}
	if err == nil && db.dialect == Postgres && !db.at.Pooler {
		err = pipe.OwnSessions(ctx, db.write.DB)
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
	db.Queries = Queries{ext: db.read, dialect: SQLite, keys: newDataKeys(o.Now)}
	return nil
}

func (db *DB) openPostgres(dsn string, o Options) error {
	at, err := pipe.ParseAddress(dsn)
	if err != nil {
		return err
	}
	pool, err := openPool(at.Pool, at.Pooler, o.Seen)
	if err != nil {
		return err
	}
	db.at = at
	pool.SetMaxOpenConns(o.MaxReaders)
	pool.SetMaxIdleConns(o.MaxReaders)
	db.read, db.write = pool, pool
	db.Queries = Queries{ext: pool, dialect: Postgres, keys: newDataKeys(o.Now)}
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

// connectTimeout sets how long a connection may take to come about when the address of the database does not say.
const connectTimeout = 10 * time.Second

// What a server is asked to do about a node that is frozen or gone: a transaction it left open would keep others from its
// rows. Statements have no limit of their own, because a migration or a backup may take long; what people and machines wait
// for is bounded by its request, and the transactions of the engine by its deadline.
var sessionSettings = [...]struct{ name, value string }{
	{"idle_in_transaction_session_timeout", "60s"},
	// Compiling a plan over the partitions of all days takes seconds, and spares milliseconds.
	{"jit", "off"},
	// Nor does a page need more than one process, and what it reads is mostly in memory: without these the planner reads tables from
	// end to end for a hundred rows.
	{"max_parallel_workers_per_gather", "0"},
	{"random_page_cost", "1.1"},
	{"tcp_keepalives_idle", "30"}, // seconds; then a probe every 10, and after 3 without an answer the node is gone
	{"tcp_keepalives_interval", "10"},
	{"tcp_keepalives_count", "3"},
}

// openPool makes the pool of connections to a PostgreSQL. What the address says itself, such as connect_timeout or
// idle_in_transaction_session_timeout, is left as it is. Through a pooler no session is ours: settings stay with the role, and no
// statement stays prepared, unless the address says default_query_exec_mode=cache_statement for one that knows prepared statements.
func openPool(dsn string, pooler bool, seen func(string) func(tls.ConnectionState) error) (*sqlx.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	look(cfg, seen)
	if !strings.Contains(dsn, "connect_timeout=") {
		cfg.ConnectTimeout = connectTimeout
	}
	unnamed := pooler && !strings.Contains(dsn, "default_query_exec_mode=cache_statement")
	if unnamed && cfg.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	given := cfg.RuntimeParams
	prepare := func(ctx context.Context, conn *pgx.Conn) error {
		if pooler {
			return nil
		}
		for _, s := range sessionSettings {
			if _, ok := given[s.name]; ok {
				continue
			}
			_, err := conn.Exec(ctx, `SET `+s.name+` = '`+s.value+`'`, pgx.QueryExecModeSimpleProtocol)
			if _, unknown := errors.AsType[*pgconn.PgError](err); err != nil && !unknown { // other databases speak the protocol too
				return fmt.Errorf("set %s: %w", s.name, err)
			}
		}
		return nil
	}
	connector := pipe.Connector{Connector: stdlib.GetConnector(*cfg, stdlib.OptionAfterConnect(prepare)), Explain: conflict, Unnamed: unnamed}
	return sqlx.NewDb(sql.OpenDB(connector), "pgx"), nil
}

// look has seen look at the TLS of each host of an address.
func look(cfg *pgx.ConnConfig, seen func(string) func(tls.ConnectionState) error) {
	if seen == nil {
		return
	}
	for _, host := range append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...) {
		if host.TLSConfig == nil {
			continue
		}
		verify, see := host.TLSConfig.VerifyConnection, seen(net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port))))
		host.TLSConfig.VerifyConnection = func(c tls.ConnectionState) error {
			if verify != nil { // what the driver checks stays checked
				if err := verify(c); err != nil {
					return err
				}
			}
			return see(c)
		}
	}
}

// ErrInUse is returned when another process has the database to itself.
var ErrInUse = errors.New("another Schakel works on this file; stop it first, or use PostgreSQL when several must share the work")

// takeAlone keeps a SQLite file to this process. It locks a file beside the database and not the database itself, where locks of
// SQLite's own may be in the way. The kernel lets go of it when the process ends, however it ends.
func takeAlone(path string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // else two names of one file would be two locks
	}
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := make([]byte, 20)
		n, _ := f.ReadAt(holder, 0)
		return nil, errors.Join(fmt.Errorf("%w (process %s)", ErrInUse, strings.TrimSpace(string(holder[:n]))), f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// unlock leaves the lock file where it is: removing it could take it away under a process that just opened it.
func (db *DB) unlock() error {
	if db.lock == nil {
		return nil
	}
	err := db.lock.Close()
	db.lock = nil
	return err
}

// makePrivate makes a new database file that only its owner can read: it holds personal data and password hashes. SQLite gives
// the files beside it the same mode. What is there already keeps the mode that the operator gave it.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
