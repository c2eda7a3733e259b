package store

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"
	"schakel/store/pipe"
)

// Like is like, for tests of the escaping.
var Like = like

// Statement is a statement as the database got it.
type Statement struct {
	Query string
	Args  []any
}

// Record keeps what this transaction asks from now on, but for plain inserts and updates of one row.
func (tx *Tx) Record() *Recorder {
	r := &Recorder{ExtContext: tx.ext}
	tx.ext = r
	return r
}

// Recorder passes statements on and keeps them.
type Recorder struct {
	sqlx.ExtContext
	Statements []Statement
}

func (r *Recorder) keep(query string, args []any) {
	r.Statements = append(r.Statements, Statement{query, args})
}

// QueryContext keeps and passes on.
func (r *Recorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.keep(query, args)
	return r.ExtContext.QueryContext(ctx, query, args...)
}

// QueryxContext keeps and passes on.
func (r *Recorder) QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error) {
	r.keep(query, args)
	return r.ExtContext.QueryxContext(ctx, query, args...)
}

// QueryRowxContext keeps and passes on.
func (r *Recorder) QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row {
	r.keep(query, args)
	return r.ExtContext.QueryRowxContext(ctx, query, args...)
}

// ExecContext keeps and passes on.
func (r *Recorder) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r.keep(query, args)
	return r.ExtContext.ExecContext(ctx, query, args...)
}

// Explain explains a statement that went past database/sql; known is false for any other.
func (tx *Tx) Explain(ctx context.Context, query string, args []any) (lines []string, known bool, err error) {
	if len(args) != 1 {
		return nil, false, nil
	}
	d, known := args[0].(*pipe.Statement)
	if !known {
		return nil, false, nil
	}
	explained := pipe.Statement{Params: d.Params}
	_, err = tx.tx.ExecContext(ctx, query, &explained)
	return explained.First, true, err
}

// Raw gives tests the transaction itself.
func (tx *Tx) Raw() *sqlx.Tx { return tx.tx }
