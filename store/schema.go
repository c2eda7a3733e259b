package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"schakel/registry/sorted"
	"schakel/store/pipe"
	embedded "schakel/templates/i18n/texts"
)

// ErrNewerSchema says that a newer program has used the database: this one could misread what it finds, and changes nothing.
var ErrNewerSchema = errors.New("the tables are of a newer version of Schakel")

// migrateTries bounds how often a migration is begun again after a deadlock with a node of the version before.
const migrateTries = 20

// Migrate brings the tables forward to what this program needs, and refuses those of a newer one with [ErrNewerSchema]. Each step is one transaction, so that an
// interrupted one is done again whole; several nodes may call it at once, while nodes of the version before write.
func (db *DB) Migrate(ctx context.Context) error {
	pool, err := db.session(ctx)
	if err != nil {
		return err
	}
	defer db.endSession(pool)
	provider, err := db.migrator(pool)
	if err != nil {
		return err
	}
	if current, target, err := provider.GetVersions(ctx); err == nil && current > target {
		return fmt.Errorf("%w: they have version %d and this program knows %d. Start the newer program again; or, to go back, restore the backup from before the upgrade", ErrNewerSchema, current, target)
	}
	for deadlocks := 0; ; {
		before, _, stateErr := provider.GetVersions(ctx)
		_, err := provider.Up(ctx)
		if err == nil {
			if err := db.adoptAudits(ctx); err != nil {
				return fmt.Errorf("chain older audit entries: %w", err)
			}
			return nil
		}
		if p, ok := errors.AsType[*pgconn.PgError](err); ok && p.Code == "40P01" && deadlocks < migrateTries {
			deadlocks++
			continue
		}
		// SQLite has no lock that outlives a transaction: a step can fail because another process just did it. Then go on.
		after, _, afterErr := provider.GetVersions(ctx)
		if errors.Join(stateErr, afterErr) != nil || after <= before {
			return fmt.Errorf("migrate: %w", err)
		}
	}
}

// MigrationState returns the version the tables have and the one this program needs.
func (db *DB) MigrationState(ctx context.Context) (current, target int64, err error) {
	provider, err := db.migrator(db.write)
	if err != nil {
		return 0, 0, err
	}
	if current, target, err = provider.GetVersions(ctx); err != nil {
		return 0, 0, fmt.Errorf("read migration state: %w", err)
	}
	return current, target, nil
}

// session returns a pool past the pooler, where there is one: what locks a session unlocks it there.
func (db *DB) session(ctx context.Context) (*sqlx.DB, error) {
	if !db.at.Pooler {
		return db.write, nil
	}
	pool, err := openPool(db.at.Direct, false, nil)
	if err == nil {
		if err = pipe.OwnSessions(ctx, pool.DB); err != nil {
			err = errors.Join(fmt.Errorf("reach the database past the pooler: %w", err), pool.Close())
		}
	}
	return pool, err
}

// endSession closes a pool of session.
func (db *DB) endSession(pool *sqlx.DB) {
	if pool != db.write {
		_ = pool.Close()
	}
}

func (db *DB) migrator(pool *sqlx.DB) (*goose.Provider, error) {
	dialect, options := goose.DialectSQLite3, []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if db.dialect == Postgres {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		dialect, options = goose.DialectPostgres, append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(dialect, pool.DB, migrationFiles(db.dialect), options...)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}

// migrationFiles joins the migrations of a dialect into one folder, by name: those directly in migrations, which both databases
// read, and those of its own.
type migrationFiles Dialect

func (m migrationFiles) ReadDir(string) ([]fs.DirEntry, error) {
	both, errBoth := migrations.ReadDir("migrations")
	own, errOwn := migrations.ReadDir("migrations/" + string(m))
	files := append(slices.DeleteFunc(both, fs.DirEntry.IsDir), own...)
	sorted.By(files, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return files, errors.Join(errBoth, errOwn)
}

// Open opens a migration as it stands in the repository, also where it is embedded compressed.
func (m migrationFiles) Open(name string) (fs.File, error) {
	file, err := migrations.Open("migrations/" + name)
	if err != nil {
		if file, err = migrations.Open("migrations/" + string(m) + "/" + name); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(file)
	return migrationFile{file, bytes.NewReader(embedded.Unpack(text))}, err
}

// migrationFile reads the text of a migration.
type migrationFile struct {
	fs.File
	text *bytes.Reader
}

func (f migrationFile) Read(into []byte) (int, error) { return f.text.Read(into) }

// NewestSchema returns the version of the schema to which this program migrates.
func NewestSchema() (int64, error) {
	files, err := migrationFiles(SQLite).ReadDir(".")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	return goose.NumericComponent(files[len(files)-1].Name())
}

// MigrateTo brings an empty or older schema to exactly this version.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	pool, err := db.session(ctx)
	if err != nil {
		return err
	}
	defer db.endSession(pool)
	provider, err := db.migrator(pool)
	if err != nil {
		return err
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("migrate to version %d: %w", version, err)
	}
	return nil
}

// OpenSchema opens an empty SQLite database in memory with this version of the schema. It serves to describe the tables; it has
// one connection, and no clock or ids to write with.
func OpenSchema(ctx context.Context, version int64) (*DB, error) {
	pool, err := sqlx.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1) // every connection would have a memory of its own
	db := &DB{Queries: Queries{ext: pool, dialect: SQLite}, read: pool, write: pool, texts: newTexts()}
	if err := db.MigrateTo(ctx, version); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}
