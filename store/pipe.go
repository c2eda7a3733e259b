package store

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipe is a connection to PostgreSQL on which statements may wait for the next one. What waits goes to the server with it, in
// one write, and what came of all is read at once: a group commit takes four ways there and back in place of ten. A transaction
// begins with its first statement that does not wait, or with its commit.
//
// A statement that waited and failed makes the one fail that it went with, or the commit: in any case nothing of the
// transaction is kept.
type pipe struct {
	*stdlib.Conn
	known   map[string]*pgconn.StatementDescription // direct statements that are prepared here
	waiting *pgconn.Batch
	count   int // statements that wait
	size    int // bytes of their parameters
	open    bool
	explain func(error) error // translates an error of the server
}

// direct is the argument of a statement that goes to PostgreSQL past database/sql: with parameters as the protocol has them.
type direct struct {
	params [][]byte // in the binary formats
	later  bool     // in a transaction it may wait: nobody asks what came of it
	first  []string // the first column of the answer
}

// pipeBytes is how much may wait, so that large events do not gather in memory.
const pipeBytes = 1 << 20

var _ interface {
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
} = (*pipe)(nil)

// BeginTx begins a transaction with the first statement.
func (p *pipe) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o != (driver.TxOptions{}) {
		return p.Conn.BeginTx(ctx, o)
	}
	if p.PgConn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	p.drop()
	p.open = true
	p.add("begin", nil, nil)
	return &pipeTx{p, ctx}, nil
}

// PgConn is the connection below.
func (p *pipe) PgConn() *pgconn.PgConn { return p.Conn.Conn().PgConn() }

// ExecContext runs a statement, after what waits.
func (p *pipe) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 1 {
		if d, ok := args[0].Value.(*direct); ok {
			return p.direct(ctx, query, d)
		}
	}
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return p.Conn.ExecContext(ctx, query, args)
}

// QueryContext runs a query, after what waits.
func (p *pipe) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return p.Conn.QueryContext(ctx, query, args)
}

// PrepareContext prepares a statement, after what waits. Nothing may wait while it is used.
func (p *pipe) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return p.Conn.PrepareContext(ctx, query)
}

// ResetSession makes the connection fit for another user.
func (p *pipe) ResetSession(ctx context.Context) error {
	p.drop()
	p.open = false
	return p.Conn.ResetSession(ctx)
}

func (p *pipe) direct(ctx context.Context, query string, d *direct) (driver.Result, error) {
	statement := p.known[query]
	if statement == nil {
		var err error
		if statement, err = p.Conn.Conn().Prepare(ctx, query, query); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
		p.known[query] = statement
	}
	p.add("", statement, d.params)
	if d.later && p.open && p.size < pipeBytes {
		return driver.RowsAffected(0), nil
	}
	tag, err := p.run(ctx, d)
	return driver.RowsAffected(tag.RowsAffected()), err
}

var binaryFormat = []int16{pgx.BinaryFormatCode}

// add lets a statement wait: a prepared one, or a text without parameters.
func (p *pipe) add(text string, statement *pgconn.StatementDescription, params [][]byte) {
	if p.waiting == nil {
		p.waiting = &pgconn.Batch{}
	}
	if statement != nil {
		p.waiting.ExecStatement(statement, params, binaryFormat, nil)
	} else {
		p.waiting.ExecParams(text, nil, nil, nil, nil)
	}
	p.count++
	for _, value := range params {
		p.size += len(value)
	}
}

// drop forgets what waits.
func (p *pipe) drop() { p.waiting, p.count, p.size = nil, 0, 0 }

func (p *pipe) flush(ctx context.Context) error {
	if p.count == 0 {
		return nil
	}
	_, err := p.run(ctx, &direct{})
	return err
}

// run sends what waits and tells what came of the last statement.
func (p *pipe) run(ctx context.Context, last *direct) (tag pgconn.CommandTag, err error) {
	batch, left := p.waiting, p.count
	p.drop()
	last.first = nil
	results := p.PgConn().ExecBatch(ctx, batch)
	for results.NextResult() {
		left--
		r := results.ResultReader()
		for r.NextRow() {
			if left == 0 {
				last.first = append(last.first, string(r.Values()[0]))
			}
		}
		tag, _ = r.Close() // its error is that of all
	}
	if err = results.Close(); err != nil {
		err = p.explain(err)
	}
	return tag, err
}

// pipeTx is a transaction on a pipe.
type pipeTx struct {
	pipe *pipe
	ctx  context.Context // for its end, as database/sql gives none
}

// Commit sends what waits and the commit together. A transaction without a statement takes no way at all.
func (t *pipeTx) Commit() error {
	p := t.pipe
	p.open = false
	if p.count == 1 && p.PgConn().TxStatus() == 'I' {
		p.drop()
		return nil
	}
	p.add("commit", nil, nil)
	tag, err := p.run(t.ctx, &direct{})
	switch {
	case err != nil:
		_ = t.undo() // that the commit failed is what counts
		return err
	case tag.String() == "ROLLBACK":
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// Rollback drops what waits and undoes what was sent.
func (t *pipeTx) Rollback() error {
	t.pipe.open = false
	t.pipe.drop()
	return t.undo()
}

func (t *pipeTx) undo() error {
	conn := t.pipe.Conn.Conn()
	if conn.PgConn().TxStatus() == 'I' || conn.IsClosed() {
		return nil
	}
	if _, err := conn.Exec(t.ctx, "rollback"); err != nil {
		_ = conn.Close(t.ctx) // the server rolls back what is cut off
		return fmt.Errorf("rollback: %w", err)
	}
	return nil
}

// pipes connects to PostgreSQL.
type pipes struct {
	driver.Connector
	explain func(error) error // translates an error of the server
}

// Connect makes a connection.
func (c pipes) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pipe{Conn: conn.(*stdlib.Conn), known: make(map[string]*pgconn.StatementDescription), explain: c.explain}, nil
}
