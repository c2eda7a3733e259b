package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

const (
	sqliteColumns = `SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose%'`
	// Partitions are their table; what PostgreSQL has beside them is the index event_identity on SQLite.
	postgresColumns = `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%' AND table_name <> 'event_identity' AND column_name <> '` + storetest.Newer + `' AND NOT EXISTS
		(SELECT 1 FROM pg_inherits i WHERE i.inhrelid = CAST(quote_ident(table_name) AS regclass))`
	sqliteIndexes   = `SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`
	postgresIndexes = `SELECT i.indexname FROM pg_indexes i WHERE i.schemaname = 'public' AND i.tablename <> 'event_identity' AND NOT EXISTS
		(SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)
		AND NOT EXISTS (SELECT 1 FROM pg_inherits p WHERE p.inhrelid = CAST(quote_ident(i.indexname) AS regclass))
		UNION ALL SELECT tablename FROM pg_tables WHERE tablename = 'event_identity'`
)

func names(t *testing.T, db *store.DB, query string) []string {
	t.Helper()
	read, _ := db.Pools()
	var got []string
	noErr(t, read.Select(&got, query))
	slices.Sort(got)
	return got
}

func TestBothDatabasesHaveTheSameTables(t *testing.T) {
	t.Parallel()
	sqlite, postgres := storetest.SQLite(t), storetest.Postgres(t)
	columns := names(t, sqlite, sqliteColumns)
	same(t, columns, nil, names(t, postgres, postgresColumns))
	same(t, names(t, sqlite, sqliteIndexes), nil, names(t, postgres, postgresIndexes))
	if len(columns) < 100 {
		t.Errorf("only %d columns", len(columns))
	}
}

// eachEmpty runs fn with the name of a database without tables.
func eachEmpty(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	t.Parallel()
	storetest.EachURL(t, fn)
}

func migrate(t *testing.T, database string) error {
	db, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(t.Context()), db.Close())
}

func migrated(t *testing.T, database string) {
	t.Helper()
	db, err := store.Open(t.Context(), database, store.Options{})
	noErr(t, err)
	defer db.Close()
	same(t, db.Migrate(t.Context()), nil, nil)
	current, target, err := db.MigrationState(t.Context())
	same(t, current, err, target)
	gives(t, "1")(db.FanoutEpoch(t.Context()))
}

// A program leaves tables of a newer one alone; its error names a remedy.
func TestMigrateRefusesNewerTables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) error {
			_, err := tx.Raw().Exec(`UPDATE goose_db_version SET version_id = 99999 WHERE version_id = 2`)
			return err
		})
		err := w.db.Migrate(w.ctx)
		if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "99999") || !strings.Contains(err.Error(), "restore the backup") {
			t.Errorf("newer tables: %v", err)
		}
	})
}

func TestMigrateAtOnce(t *testing.T) {
	eachEmpty(t, func(t *testing.T, database string) {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := migrate(t, database); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		migrated(t, database)
	})
}

// asMigrator makes the test binary migrate the named database, to be killed meanwhile.
const asMigrator = "STORE_MIGRATE"

func TestMigrateAfterAKill(t *testing.T) {
	if database := os.Getenv(asMigrator); database != "" {
		noErr(t, migrate(t, database))
		return
	}
	eachEmpty(t, func(t *testing.T, database string) {
		for i := range 6 {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMigrateAfterAKill$")
			child.Env = append(os.Environ(), asMigrator+"="+database)
			noErr(t, child.Start())
			// Wherever the kill falls, the verdict is the same; the moments only spread it over the migration.
			timer := time.AfterFunc(time.Duration(i*8)*time.Millisecond, func() { _ = child.Process.Kill() })
			_ = child.Wait()
			timer.Stop()
		}
		migrated(t, database)
	})
}

func TestMigrateAfterACancel(t *testing.T) {
	eachEmpty(t, func(t *testing.T, database string) {
		db, err := store.Open(t.Context(), database, store.Options{})
		noErr(t, err)
		defer db.Close()
		for i := range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*3)*time.Millisecond)
			_ = db.Migrate(ctx)
			cancel()
		}
		migrated(t, database)
	})
}

// A node of the version before reads attempt, then event; the migration changes event, then attempt. PostgreSQL ends one of the two: the
// migration here, which begins again once the other is done.
func TestMigrateAfterADeadlock(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := store.Open(ctx, storetest.PostgresURL(t), store.Options{})
	noErr(t, err)
	defer db.Close()
	noErr(t, db.MigrateTo(ctx, 551))
	_, pool := db.Pools()
	older, err := pool.BeginTxx(ctx, nil)
	noErr(t, err)
	defer func() { _ = older.Rollback() }()
	_, err = older.ExecContext(ctx, `SET LOCAL deadlock_timeout = '5min'`)
	noErr(t, err)
	var n int
	noErr(t, older.GetContext(ctx, &n, `SELECT count(*) FROM attempt`))
	migrating := make(chan error)
	go func() { migrating <- db.Migrate(ctx) }()
	for n = 0; n == 0; {
		noErr(t, pool.GetContext(ctx, &n, `SELECT count(*) FROM pg_sleep(0.01), pg_locks WHERE NOT granted AND relation = 'attempt'::regclass`))
	}
	noErr(t, older.GetContext(ctx, &n, `SELECT count(*) FROM event`)) // waits until the migration gave way
	noErr(t, older.Commit())
	noErr(t, <-migrating)
	current, target, err := db.MigrationState(ctx)
	same(t, current, err, target)
}

// TestUpgradeKeepsTheSettingsInForce: the strict profile became the default, and an installation in use keeps what held
// before as settings, but for what its administrator chose.
func TestUpgradeKeepsTheSettingsInForce(t *testing.T) {
	needs.Unraced(t)
	t.Parallel()
	const partner = `INSERT INTO partner (id, own, name, status, created_at, updated_at) VALUES ('p', TRUE, 'Own', 'approved', 1, 1)`
	const chosen = `INSERT INTO setting (name, value, updated_at) VALUES ('profile', '{"version":3,"updatedAt":"2026-01-02T03:04:05Z","updatedBy":"Ada","values":{"tokens.client_auth":"private_key_jwt"}}', 1)`
	lenient := map[string]string{"idempotency.require_key_on_writes": "accept", "register.spec_versions": "accept", "tokens.client_auth": "client_secret_basic"}
	for name, tt := range map[string]struct {
		before  []string
		version int
		values  map[string]string
	}{
		"new":    {nil, 0, nil},
		"in use": {[]string{partner}, 1, lenient},
		"chosen": {[]string{partner, chosen}, 3, map[string]string{"idempotency.require_key_on_writes": "accept", "register.spec_versions": "accept", "tokens.client_auth": "private_key_jwt"}},
	} {
		for _, dialect := range []store.Dialect{store.SQLite, store.Postgres} {
			t.Run(name+"/"+string(dialect), func(t *testing.T) {
				t.Parallel()
				db := open(t, empty(t, dialect))
				same(t, db.MigrateTo(t.Context(), 11), nil, nil)
				same(t, db.Write(t.Context(), func(tx *store.Tx) error {
					for _, statement := range tt.before {
						if _, err := tx.Raw().Exec(statement); err != nil {
							return err
						}
					}
					return nil
				}), nil, nil)
				same(t, db.Migrate(t.Context()), nil, nil)
				text, err := db.Setting(t.Context(), "profile")
				same(t, err, nil, nil)
				var row struct {
					Version int               `json:"version"`
					Values  map[string]string `json:"values"`
				}
				if text != "" {
					same(t, json.Unmarshal([]byte(text), &row), nil, nil)
				}
				same(t, row.Version, nil, tt.version)
				same(t, row.Values, nil, tt.values)
			})
		}
	}
}

// From here on a migration takes away nothing that the version before it uses: nodes of both work on the same tables while an upgrade goes
// on. What a version stopped using goes in a later one, which says so in a comment: -- unused since 1.2.0
func TestMigrationsKeepTheVersionBefore(t *testing.T) {
	t.Parallel()
	const strictFrom = 640
	taking := regexp.MustCompile(`(?i)\b(DROP\s+(TABLE|COLUMN)|RENAME\s+(TO|COLUMN)|ALTER\s+COLUMN\s+\w+\s+(SET\s+NOT\s+NULL|TYPE|SET\s+DATA))\b`)
	bare := regexp.MustCompile(`(?i)\bADD\s+COLUMN\s+[^,;]*\bNOT\s+NULL\b[^,;]*`)
	judge := func(text string) (wrong []string) {
		up, _, _ := strings.Cut(text, "-- +goose Down")
		for statement := range strings.SplitSeq(up, ";") {
			if taking.MatchString(statement) && !strings.Contains(statement, "-- unused since ") {
				wrong = append(wrong, "takes away or narrows what the version before uses:"+statement)
			}
			for _, column := range bare.FindAllString(statement, -1) {
				if !strings.Contains(strings.ToUpper(column), "DEFAULT") {
					wrong = append(wrong, "adds a column that the version before does not fill, without a default: "+column)
				}
			}
		}
		return wrong
	}
	for text, want := range map[string]int{
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT ''; CREATE TABLE c (d TEXT NOT NULL);": 0,
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL;":                                              1,
		"ALTER TABLE a DROP COLUMN b; DROP TABLE c;":                                             2,
		"ALTER TABLE a RENAME COLUMN b TO c;":                                                    1,
		"-- unused since 1.2.0\nALTER TABLE a DROP COLUMN b;":                                    0,
		"CREATE TABLE c (d TEXT);\n-- +goose Down\nDROP TABLE c;":                                0,
		"ALTER TABLE a ALTER COLUMN b SET NOT NULL;":                                             1,
	} {
		if got := judge(text); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, pattern := range []string{"migrations/*.sql", "migrations/*/*.sql"} {
		files, err := filepath.Glob(pattern)
		noErr(t, err)
		if len(files) == 0 {
			t.Errorf("no files in %s", pattern)
		}
		for _, file := range files {
			number, err := strconv.Atoi(strings.SplitN(filepath.Base(file), "_", 2)[0])
			noErr(t, err)
			if number < strictFrom {
				continue
			}
			text, err := os.ReadFile(file)
			noErr(t, err)
			for _, wrong := range judge(string(text)) {
				t.Errorf("%s %s", file, wrong)
			}
		}
	}
}
