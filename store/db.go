// Package store holds all SQL of the product: one file per noun, the same methods on SQLite and PostgreSQL.
//
// Reads are methods of [Queries], which both [DB] and [Tx] embed; writes are methods of [Tx], so that whoever
// writes has decided what belongs together. A transaction carries one clock reading for all it writes.
//
// On SQLite there is one writer connection and a pool of readers; a commit is on disk when Write returns
// (journal_mode=WAL, synchronous=FULL). On PostgreSQL both are one pool.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jmoiron/sqlx"
	"github.com/mattn/go-sqlite3"
	"github.com/oklog/ulid/v2"
	"schakel/store/pipe"
)

// ErrNotFound is returned when the row asked for does not exist, or is not the asker's.
var ErrNotFound = errors.New("not found")

// ErrConflict is returned when a row with the same identity exists, or the row changed meanwhile.
var ErrConflict = errors.New("conflict")

// Dialect is the kind of database behind a DB.
type Dialect string

// The two databases the product runs on.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	Queries
	read, write *sqlx.DB
	now         func() time.Time
	ids         *idSource
	at          pipe.Address // of a PostgreSQL
	lock        *os.File     // keeps a SQLite file to one process; nil when others may have it too
	texts       *texts
	readers     int // how many connections to SQLite read at most
	cursors     *cursors
	living      *atomic.Pointer[[]string]
	logPages    atomic.Int64                                // how long SQLite's log gets; see LimitLog
	turnLog     atomic.Pointer[func(context.Context) error] // see OwnLog
	traffic     traffic
}

// Queries holds the reads, on the pool or inside a transaction.
type Queries struct {
	ext     sqlx.ExtContext
	dialect Dialect
	keys    *dataKeys
}

// Tx is a transaction that may write. Now is the one clock reading of all its writes.
type Tx struct {
	Queries
	Now     Time
	tx      *sqlx.Tx
	ids     *idSource
	texts   *texts
	cursors *cursors
	// living lists the nodes whose claims are not taken over; see SetLiving.
	living *atomic.Pointer[[]string]
	// plannedOnce is set once planOnce did its work.
	plannedOnce bool
	// audits waits for the commit, which gives its entries their place in the chain.
	audits []Audit
	counts
}

// NewID returns a fresh id that sorts by time, such as "sub_01J…" for the prefix "sub".
func (tx *Tx) NewID(prefix string) string { return tx.ids.next(prefix, tx.Now.Time) }

// NewID returns a fresh id outside a transaction.
func (db *DB) NewID(prefix string) string { return db.ids.next(prefix, db.now()) }

// Dialect returns the kind of the database.
func (q *Queries) Dialect() Dialect { return q.dialect }

// Write runs fn in one transaction and commits it; an error of fn rolls all of it back. In the context of an [Operation] it
// is a step of that, which commits later.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if o := db.operationIn(ctx); o != nil {
		return o.step(fn)
	}
	stx, err := db.write.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = stx.Rollback() }()
	tx := db.newTx(stx)
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.chainAudits(ctx); err != nil {
		return err
	}
	if err := stx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", conflict(err))
	}
	db.traffic.commit(tx)
	return nil
}

func (db *DB) newTx(stx *sqlx.Tx) *Tx {
	return &Tx{Queries: Queries{ext: stx, dialect: db.dialect, keys: db.keys}, Now: At(db.now()), tx: stx, ids: db.ids, texts: db.texts, cursors: db.cursors, living: db.living}
}

// Ping asks the database for a sign of life, on the writer too.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.write.PingContext(ctx); err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	var one int
	return db.read.GetContext(ctx, &one, `SELECT 1`)
}

// closeOpened closes what a failed Open had opened.
func (db *DB) closeOpened() error {
	var errs []error
	for _, pool := range []*sqlx.DB{db.read, db.write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(append(errs, db.unlock())...)
}

// Close closes all connections.
func (db *DB) Close() error { return errors.Join(db.read.Close(), db.write.Close(), db.unlock()) }

func (q *Queries) get(ctx context.Context, dest any, query string, args ...any) error {
	err := sqlx.GetContext(ctx, q.in(ctx), dest, q.text(query, dest), args...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

func (q *Queries) list(ctx context.Context, dest any, query string, args ...any) error {
	return sqlx.SelectContext(ctx, q.in(ctx), dest, q.text(query, dest), args...)
}

// text returns a query in the words of the database. SQLite is one program's, and there a column that a row lacks fails.
func (q *Queries) text(query string, dest any) string {
	if q.dialect == Postgres {
		query = named(query, dest)
	}
	return q.ext.Rebind(query)
}

// getOne returns the row that a query finds, or ErrNotFound.
func getOne[T any](ctx context.Context, q *Queries, query string, args ...any) (T, error) {
	var row T
	err := q.get(ctx, &row, query, args...)
	return row, err
}

// listOf returns the rows that a query finds.
func listOf[T any](ctx context.Context, q *Queries, query string, args ...any) ([]T, error) {
	var rows []T
	err := q.list(ctx, &rows, query, args...)
	return rows, err
}

// in returns where a query runs: in the open transaction of the operation of ctx, when the pool it would run on is of the same DB.
func (q *Queries) in(ctx context.Context) sqlx.ExtContext {
	if o, ok := ctx.Value(operationKey{}).(*Operation); ok && q.ext == sqlx.ExtContext(o.db.read) {
		if tx := o.tx.Load(); tx != nil {
			return tx.ext
		}
	}
	return q.ext
}

// exec runs a statement and returns how many rows it touched. A broken uniqueness is ErrConflict.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := tx.ext.ExecContext(ctx, tx.ext.Rebind(query), args...)
	if err != nil {
		return 0, conflict(err)
	}
	return res.RowsAffected()
}

// do is exec for a statement that may touch any number of rows.
func (tx *Tx) do(ctx context.Context, query string, args ...any) error {
	_, err := tx.exec(ctx, query, args...)
	return err
}

// one is exec for a statement that must touch exactly one row.
func (tx *Tx) one(ctx context.Context, query string, args ...any) error {
	n, err := tx.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// insert writes the `db` fields of row into table.
func (tx *Tx) insert(ctx context.Context, table string, row any) error {
	cols := columns(row)
	query := `INSERT INTO ` + table + ` (` + strings.Join(cols, ", ") + `) VALUES (:` + strings.Join(cols, ", :") + `)`
	if _, err := tx.tx.NamedExecContext(ctx, query, row); err != nil {
		return conflict(err)
	}
	return nil
}

// update writes the named columns of row by its id, and fails with ErrNotFound when there is none.
func (tx *Tx) update(ctx context.Context, table string, row any, cols ...string) error {
	sets := make([]string, len(cols))
	for i, c := range cols {
		sets[i] = c + " = :" + c
	}
	res, err := tx.tx.NamedExecContext(ctx, `UPDATE `+table+` SET `+strings.Join(sets, ", ")+` WHERE id = :id`, row)
	if err != nil {
		return conflict(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrNotFound)
	}
	return nil
}

// Now returns the time of the clock of this database.
func (db *DB) Now() time.Time { return db.now() }

// Pools returns the connections that read and those that write, for package backup: it copies whole tables, about which the methods
// of this package know nothing.
func (db *DB) Pools() (read, write *sqlx.DB) { return db.read, db.write }

// idSource makes ids that sort by time, also within a millisecond, so that inserts go to the end of an index. They never
// go back, also when the clock does: what came later sorts later (guarantee G5).
type idSource struct {
	mu      sync.Mutex
	entropy io.Reader
	last    uint64 // milliseconds of the newest id
}

func newIDSource() *idSource {
	return &idSource{entropy: ulid.Monotonic(rand.Reader, 0)}
}

func (s *idSource) next(prefix string, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, ulid.Timestamp(now))
	id, err := ulid.New(s.last, s.entropy)
	if err != nil {
		// The monotonic counter of this millisecond overflowed (once in 2^79): start a fresh one.
		s.entropy = ulid.Monotonic(rand.Reader, 0)
		s.last++
		id = ulid.MustNew(s.last, s.entropy)
	}
	return prefix + "_" + id.String()
}

// after makes all ids sort after those that were made until t.
func (s *idSource) after(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, ulid.Timestamp(t)+1)
}

// IDAt sorts before every id of this prefix that was made at t or later, to the millisecond, and after all older ones.
func IDAt(prefix string, t time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(t)); err != nil {
		return prefix + "_"
	}
	return prefix + "_" + id.String()
}

// Lock keeps others from changing a row until the transaction ends, so that what is read of it afterwards still holds
// when it is written. On SQLite the one writer has that already. table is a name of ours, never input.
func (tx *Tx) Lock(ctx context.Context, table, id string) error {
	if tx.dialect != Postgres {
		return nil
	}
	var found string
	return tx.get(ctx, &found, `SELECT id FROM `+table+` WHERE id = ? FOR UPDATE`, id)
}

// Away reports whether the database cannot be reached or cannot write now, such as during a restart or on a full disk: what failed may be
// tried again later.
func Away(err error) bool {
	if s, ok := errors.AsType[sqlite3.Error](err); ok {
		switch s.Code {
		case sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrNomem:
			return true
		}
		return false
	}
	if p, ok := errors.AsType[*pgconn.PgError](err); ok && len(p.Code) == 5 {
		switch p.Code[:2] {
		case "08", "53", "57", "58", "25", "40": // connection, resources, shut down by an operator, system, read-only, in each other's way
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	// A connection that breaks while an answer is awaited ends without more words.
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || err != nil && pgconn.SafeToRetry(err)
}

// Ready asks the database for a sign of life, and whether it can write: a full disk is not seen by reading.
func (db *DB) Ready(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	return db.Write(ctx, func(tx *Tx) error {
		return tx.one(ctx, `UPDATE setting SET updated_at = ? WHERE name = 'fanout_epoch'`, tx.Now)
	})
}

// Refused reports whether the database is well and refused what it was given, such as a value too large for an index: trying the
// same again cannot help, and something else may well succeed.
func Refused(err error) bool {
	if s, ok := errors.AsType[sqlite3.Error](err); ok {
		return s.Code == sqlite3.ErrTooBig || s.Code == sqlite3.ErrMismatch || s.Code == sqlite3.ErrRange
	}
	if p, ok := errors.AsType[*pgconn.PgError](err); ok && len(p.Code) == 5 {
		class := p.Code[:2]
		return class == "22" || class == "54" // data exception, program limit exceeded
	}
	return false
}
