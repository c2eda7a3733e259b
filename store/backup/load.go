package backup

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
	"schakel/store"
)

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
