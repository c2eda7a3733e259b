package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// Operation is one transaction for all that a request writes through its context, so that an answer can be kept in the
// transaction of what it tells (IDEM-17). The transaction begins at the first [DB.Write] and not before: what comes ahead of
// it, such as reading a large document, keeps nobody waiting. From then on reads through the context see what was written.
//
// Each Write is a step: one that fails leaves nothing, and the steps before it stay. Nothing is durable, and nobody else sees
// anything, before Commit. On SQLite the operation has the one writer meanwhile, so it must end soon after its first Write.
type Operation struct {
	db    *DB
	ctx   context.Context // of the request; a step may have a shorter one, which must not end the others
	claim func(*Tx) error

	steps   sync.Mutex // one step at a time
	stx     *sqlx.Tx
	tx      atomic.Pointer[Tx] // set while the transaction is open
	refused error              // why the transaction may not go on

	state sync.Mutex
	over  bool
	after []func()
}

type operationKey struct{}

// Operation answers a context whose writes and reads in db belong together. The transaction begins with claim; when that fails,
// each Write fails with its error. Whoever makes an operation ends it with Commit or Rollback.
func (db *DB) Operation(ctx context.Context, claim func(*Tx) error) (context.Context, *Operation) {
	o := &Operation{db: db, ctx: ctx, claim: claim}
	return context.WithValue(ctx, operationKey{}, o), o
}

// AfterCommit runs fn when what ctx writes is durable: at once, or when the operation of ctx commits. It is for waking who
// looks in the database.
func AfterCommit(ctx context.Context, fn func()) {
	if o, ok := ctx.Value(operationKey{}).(*Operation); ok && o.later(fn) {
		return
	}
	fn()
}

func (o *Operation) later(fn func()) bool {
	o.state.Lock()
	defer o.state.Unlock()
	if !o.over {
		o.after = append(o.after, fn)
	}
	return !o.over
}

func (o *Operation) isOver() bool {
	o.state.Lock()
	defer o.state.Unlock()
	return o.over
}

// operationIn is the operation of a context on this database; none when it is over: work that outlives its request writes for
// itself.
func (db *DB) operationIn(ctx context.Context) *Operation {
	o, ok := ctx.Value(operationKey{}).(*Operation)
	if !ok || o.db != db || o.isOver() {
		return nil
	}
	return o
}

// step runs fn as a part of the transaction.
func (o *Operation) step(fn func(*Tx) error) error {
	o.steps.Lock()
	defer o.steps.Unlock()
	tx, err := o.begin()
	if err != nil {
		return err
	}
	if err := o.savepoint("SAVEPOINT step"); err != nil {
		return err
	}
	earlier, audits := tx.counts, len(tx.audits)
	tx.counts = counts{}
	if err := fn(tx); err != nil {
		tx.counts, tx.audits = earlier, tx.audits[:audits]
		if undo := o.savepoint("ROLLBACK TO SAVEPOINT step"); undo != nil {
			o.refused = errors.Join(err, undo) // a half step must not be kept
			return o.refused
		}
		return err
	}
	tx.include(earlier)
	return o.savepoint("RELEASE SAVEPOINT step")
}

func (o *Operation) begin() (*Tx, error) {
	if o.refused != nil {
		return nil, o.refused
	}
	if tx := o.tx.Load(); tx != nil {
		return tx, nil
	}
	if o.isOver() {
		return nil, sql.ErrTxDone
	}
	stx, err := o.db.write.BeginTxx(o.ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	o.stx = stx
	tx := o.db.newTx(stx)
	if o.refused = o.claim(tx); o.refused != nil {
		o.undo()
		return nil, o.refused
	}
	o.tx.Store(tx)
	return tx, nil
}

func (o *Operation) savepoint(statement string) error {
	if _, err := o.stx.ExecContext(o.ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", strings.ToLower(statement), err)
	}
	return nil
}

// Commit runs last in the transaction, which begins now when nothing was written, and makes it all durable. When it fails
// nothing of the operation is left.
func (o *Operation) Commit(last func(*Tx) error) error {
	after, err := o.commit(last)
	if err != nil {
		return err
	}
	for _, fn := range after {
		fn()
	}
	return nil
}

func (o *Operation) commit(last func(*Tx) error) ([]func(), error) {
	o.steps.Lock()
	defer o.steps.Unlock()
	tx, err := o.begin()
	if err == nil {
		err = last(tx)
	}
	if err == nil {
		err = tx.chainAudits(o.ctx)
	}
	if err != nil {
		o.end()
		return nil, err
	}
	if err := o.stx.Commit(); err != nil {
		o.end()
		return nil, fmt.Errorf("commit: %w", err)
	}
	o.stx = nil
	o.db.traffic.commit(tx)
	return o.end(), nil
}

// Rollback undoes what was written; after Commit it does nothing.
func (o *Operation) Rollback() {
	o.steps.Lock()
	defer o.steps.Unlock()
	o.end()
}

func (o *Operation) end() []func() {
	o.undo()
	o.tx.Store(nil)
	o.state.Lock()
	defer o.state.Unlock()
	o.over = true
	return o.after
}

func (o *Operation) undo() {
	if o.stx != nil {
		_ = o.stx.Rollback() // nothing is left to be done about it
		o.stx = nil
	}
}
