package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jmoiron/sqlx"
	"schakel/store"
	"schakel/store/pipe"
)

// restorePostgres fills an empty database in one transaction, so that all of it is there or nothing.
func (b *File) restorePostgres(ctx context.Context, database string, o store.Options) error {
	db, err := store.Open(ctx, database, o)
	if err != nil {
		return err
	}
	err = b.fillPostgres(ctx, db)
	if err == nil {
		err = afterRestore(ctx, db)
	}
	return errors.Join(err, db.Close())
}

func (b *File) fillPostgres(ctx context.Context, db *store.DB) error {
	if err := b.refuseUsed(ctx, db); err != nil {
		return err
	}
	if err := db.MigrateTo(ctx, b.Manifest.SchemaVersion); err != nil {
		return err
	}
	conn, err := writer(db).Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := b.loadPostgres(ctx, conn, tx); err != nil {
		return err
	}
	if err := b.compareWith(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// refuseUsed keeps us from changing the tables of a database that is in use, or newer than the backup.
func (b *File) refuseUsed(ctx context.Context, db *store.DB) error {
	current, _, err := db.MigrationState(ctx)
	if err != nil || current == 0 {
		return err
	}
	if current > b.Manifest.SchemaVersion {
		return fmt.Errorf("%w, and this one has newer tables than the backup: make an empty database", ErrNotEmpty)
	}
	tables, err := schemaAt(ctx, current)
	if err != nil {
		return err
	}
	return refuseRows(ctx, reader(db), tables)
}

// written names by table which of its rows migrations do not write.
var written = map[string]string{"setting": "FALSE", "audit_head": "seq > 0"}

// refuseRows returns ErrNotEmpty when a table has rows, other than those that migrations write.
func refuseRows(ctx context.Context, q sqlx.QueryerContext, tables []Table) error {
	for _, t := range tables {
		var some bool
		if err := sqlx.GetContext(ctx, q, &some, `SELECT EXISTS (SELECT 1 FROM `+t.Name+` WHERE `+cmp.Or(written[t.Name], "TRUE")+`)`); err != nil {
			return err
		}
		if some {
			return fmt.Errorf("%w, and this one has rows in table %s: make an empty database", ErrNotEmpty, t.Name)
		}
	}
	return nil
}

// loadPostgres copies all rows in, while nobody else can use the tables.
func (b *File) loadPostgres(ctx context.Context, conn *sqlx.Conn, tx *sqlx.Tx) error {
	names := make([]string, len(b.Manifest.Tables))
	for i, t := range b.Manifest.Tables {
		names[i] = t.Name
	}
	if _, err := tx.ExecContext(ctx, `LOCK TABLE `+strings.Join(names, ", ")+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		return err
	}
	// Again, now that nobody can write any more: a Schakel may have been started meanwhile.
	if err := refuseRows(ctx, tx, b.Manifest.Tables); err != nil {
		return err
	}
	if err := emptyTables(ctx, tx, b.Manifest.Tables); err != nil {
		return err
	}
	if err := store.PrepareLoad(ctx, tx, b.Manifest.SchemaVersion, b.Manifest.TakenAt); err != nil {
		return fmt.Errorf("make partitions: %w", err)
	}
	for _, t := range b.Manifest.Tables {
		if err := b.copyTable(ctx, conn, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := store.FinishLoad(ctx, tx, b.Manifest.SchemaVersion); err != nil {
		return fmt.Errorf("note who sent what: %w", err)
	}
	return nil
}

// copyTable loads a table by COPY on the connection that holds the transaction.
func (b *File) copyTable(ctx context.Context, conn *sqlx.Conn, t Table) error {
	rows, err := b.open(ctx, t)
	if err != nil {
		return err
	}
	defer rows.file.Close()
	return conn.Raw(func(driver any) error {
		c, ok := driver.(*pipe.Conn)
		if !ok {
			return fmt.Errorf("the driver is a %T", driver)
		}
		if err := c.Flush(ctx); err != nil {
			return err
		}
		_, err := c.Conn.Conn().CopyFrom(ctx, pgx.Identifier{t.Name}, t.columnNames(), pgx.CopyFromFunc(func() ([]any, error) {
			values, err := rows.next()
			if errors.Is(err, io.EOF) {
				return nil, nil // ends the copy
			}
			return values, err
		}))
		return err
	})
}
