package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"
)

// Engine describes the database itself: what it promises of a commit, as it says now. Members of the other database are empty.
type Engine struct {
	Dialect Dialect
	Version string    // such as "3.46.1" or "16.4"
	Major   int       // of PostgreSQL, such as 16
	Clock   time.Time // of PostgreSQL's own machine; zero on SQLite, which has none

	Synchronous int    // PRAGMA synchronous of the connection that writes: 2 is FULL
	Journal     string // PRAGMA journal_mode

	SynchronousCommit, Fsync, FullPageWrites string // settings of PostgreSQL: on, off and others

	// Untuned is set when sessions are those of a pooler and have not the settings that Schakel gives its own.
	Untuned bool
}

// Engine asks the database about itself.
func (db *DB) Engine(ctx context.Context) (Engine, error) {
	e := Engine{Dialect: db.dialect}
	if db.dialect == SQLite {
		e.Version, _, _ = sqlite3.Version()
		err := errors.Join(db.write.GetContext(ctx, &e.Synchronous, `PRAGMA synchronous`), db.write.GetContext(ctx, &e.Journal, `PRAGMA journal_mode`))
		if err != nil {
			return e, fmt.Errorf("read database settings: %w", err)
		}
		return e, nil
	}
	var row struct {
		Version string `db:"version"`
		Number  int    `db:"number"`
		Clock   Time   `db:"clock"`
		Commit  string `db:"commit"`
		Fsync   string `db:"fsync"`
		Pages   string `db:"pages"`
		Untuned bool   `db:"untuned"`
	}
	err := db.read.GetContext(ctx, &row, `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
		(extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock, current_setting('synchronous_commit') AS commit,
		current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
		current_setting('jit') = 'on' OR current_setting('idle_in_transaction_session_timeout') = '0' AS untuned`)
	if err != nil {
		return e, fmt.Errorf("read database settings: %w", err)
	}
	e.Version, e.Major, e.Clock = row.Version, row.Number/10000, row.Clock.Time
	e.SynchronousCommit, e.Fsync, e.FullPageWrites = row.Commit, row.Fsync, row.Pages
	e.Untuned = row.Untuned && db.at.Pooler
	return e, nil
}

// How many of the newest rows the checks of an installation look at: enough to know, and never a long scan.
const (
	recentMails     = 200
	recentAttempts  = 50
	milestoneEvents = 1000
)

// RecentMails lists the newest mails without their texts, newest first.
func (q *Queries) RecentMails(ctx context.Context) ([]Mail, error) {
	return listOf[Mail](ctx, q, `SELECT id, recipient, status, attempts, error, created_at, sent_at FROM mail ORDER BY id DESC LIMIT ?`, recentMails)
}

// NewestTime returns the latest moment that is stored with an event or in the audit trail; zero in an empty database.
func (q *Queries) NewestTime(ctx context.Context) (Time, error) {
	var newest Time
	for _, query := range []string{`SELECT accepted_at FROM event ORDER BY id DESC LIMIT 1`, `SELECT at FROM audit ORDER BY id DESC LIMIT 1`} {
		at, err := getOne[Time](ctx, q, query)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return newest, fmt.Errorf("read the newest time: %w", err)
		}
		if at.After(newest.Time) {
			newest = at
		}
	}
	return newest, nil
}

// RecentAnswers lists the newest attempts that got an answer, with when they began, how long they took and the header of the answer.
func (q *Queries) RecentAnswers(ctx context.Context) ([]Attempt, error) {
	return listOf[Attempt](ctx, q, `SELECT url, started_at, duration_us, response_headers FROM
		(SELECT id, url, started_at, duration_us, response_headers FROM attempt ORDER BY id DESC LIMIT ?) AS recent
		WHERE response_headers <> '' ORDER BY id DESC`, recentAttempts)
}

// ActiveHosts lists up to limit addresses of endpoints that are sent to.
func (q *Queries) ActiveHosts(ctx context.Context, limit int) ([]string, error) {
	return listOf[string](ctx, q, `SELECT DISTINCT url FROM endpoint WHERE kind = 'webhook' AND status = 'active' AND url <> '' ORDER BY url LIMIT ?`, limit)
}

// Milestones are the moments at which an installation first had what it needs; zero for what it never had, or is no longer stored.
type Milestones struct {
	Administrator, Contract, EventType, Partner, Client, Endpoint, Subscription, Event, Delivered Time
}

// Milestones reads how far an installation is. Contracts with the ids in own are the program's, and do not count, nor do its own events and
// test events.
func (q *Queries) Milestones(ctx context.Context, own []string) (Milestones, error) {
	var m Milestones
	ids := []any{""} // never an empty list, which PostgreSQL does not know
	for _, id := range own {
		ids = append(ids, id)
	}
	placeholders := marks(len(ids))
	for _, step := range []struct {
		into  *Time
		query string
		args  []any
	}{
		{&m.Administrator, `SELECT MIN(created_at) FROM account WHERE role = 'administrator' AND status = 'active'`, nil},
		{&m.Contract, `SELECT MIN(published_at) FROM contract_version WHERE published_at IS NOT NULL AND contract_id NOT IN (` + placeholders + `)`, ids},
		{&m.EventType, `SELECT MIN(created_at) FROM event_type WHERE contract_id NOT IN (` + placeholders + `)`, ids},
		{&m.Partner, `SELECT MIN(decided_at) FROM partner WHERE NOT own AND status IN ('approved', 'suspended', 'ended')`, nil},
		{&m.Client, `SELECT MIN(created_at) FROM client WHERE status = 'active'`, nil},
		{&m.Endpoint, `SELECT MIN(created_at) FROM endpoint WHERE status <> 'ended'`, nil},
		{&m.Subscription, `SELECT MIN(decided_at) FROM subscription WHERE status IN ('approved', 'paused', 'suspended')`, nil},
		{&m.Event, `SELECT MIN(accepted_at) FROM (SELECT id, accepted_at, test, client_id FROM event ORDER BY id LIMIT ?) AS first
			WHERE NOT test AND client_id <> 'schakel'`, []any{milestoneEvents}},
		{&m.Delivered, `SELECT MIN(d.delivered_at) FROM (SELECT id FROM event WHERE NOT test AND client_id <> 'schakel' ORDER BY id LIMIT ?) AS first
			JOIN delivery d ON d.event_id = first.id WHERE d.status = 'delivered'`, []any{milestoneEvents}},
	} {
		at, err := getOne[sql.Null[Time]](ctx, q, step.query, step.args...)
		if err != nil {
			return m, fmt.Errorf("read how far the installation is: %w", err)
		}
		*step.into = at.V
	}
	return m, nil
}

// Setting reads a setting of the installation, or "" when it is not set.
func (q *Queries) Setting(ctx context.Context, name string) (string, error) {
	value, err := getOne[string](ctx, q, `SELECT value FROM setting WHERE name = ?`, name)
	if err == ErrNotFound {
		err = nil
	}
	return value, err
}

// SetSetting writes a setting of the installation.
func (tx *Tx) SetSetting(ctx context.Context, name, value string) error {
	return tx.do(ctx, `INSERT INTO setting (name, value, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, name, value, tx.Now)
}

// SwapSetting writes a setting that still has the value before ("" when it was not set). When someone else changed it
// meanwhile the error is ErrConflict.
func (tx *Tx) SwapSetting(ctx context.Context, name, before, after string) error {
	var query string
	args := []any{name, after, tx.Now}
	if before == "" {
		query = `INSERT INTO setting (name, value, updated_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`
	} else {
		query = `UPDATE setting SET value = ?, updated_at = ? WHERE name = ? AND value = ?`
		args = []any{after, tx.Now, name, before}
	}
	n, err := tx.exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("write setting: %w", err)
	}
	if n == 0 {
		return ErrConflict
	}
	return nil
}
