package replicate

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Turn has SQLite copy all of its log into the database and begin it anew, as far as readers let it. Nobody in this process writes meanwhile.
func (r *Replicator) Turn(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return nil
	}
	return r.turn(ctx)
}

func (r *Replicator) turn(ctx context.Context) error {
	read, write := r.db.Pools()
	if err := checkpoint(ctx, read); err != nil { // most of it while others write
		return err
	}
	conn, err := write.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// What a reader holds on to is collected before the next one begins; see hold.
	if err := r.collect(); err != nil {
		return err
	}
	if err := r.renew(ctx); err != nil {
		return err
	}
	if err := r.collect(); err != nil {
		return err
	}
	if err := checkpoint(ctx, conn); err != nil {
		return err
	}
	return r.renew(ctx)
}

func checkpoint(ctx context.Context, q sqlx.QueryerContext) error {
	var busy, frames, copied int
	if err := q.QueryRowxContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &frames, &copied); err != nil {
		return fmt.Errorf("copy the log into the database: %w", err)
	}
	return nil
}

// hold is a transaction that reads, which keeps SQLite from writing over frames of its log that were not collected. What SQLite copied
// into the database never goes past what a reader sees. So, when all that the reader before it saw is collected before this one begins:
//   - one that sees frames not copied keeps the log from beginning anew;
//   - one for which all is copied sees none that was not collected, and keeps SQLite from copying more, and so from beginning anew twice.
type hold struct {
	conn *sqlx.Conn
	tx   *sqlx.Tx
}

func (r *Replicator) newHold(ctx context.Context) (*hold, error) {
	read, _ := r.db.Pools()
	conn, err := read.Connx(ctx)
	if err != nil {
		return nil, fmt.Errorf("hold the log: %w", err)
	}
	tx, err := conn.BeginTxx(context.WithoutCancel(ctx), nil)
	if err == nil {
		var n int
		err = tx.GetContext(ctx, &n, `SELECT COUNT(*) FROM sqlite_schema`) // the transaction begins with its first statement
	}
	h := &hold{conn, tx}
	if err != nil {
		h.end()
		return nil, fmt.Errorf("hold the log: %w", err)
	}
	return h, nil
}

func (h *hold) end() {
	if h.tx != nil {
		_ = h.tx.Rollback()
	}
	_ = h.conn.Close()
}

// renew lets another reader hold the log, which sees what was committed since.
func (r *Replicator) renew(ctx context.Context) error {
	next, err := r.newHold(ctx)
	if err != nil {
		return err
	}
	r.run.hold.end()
	r.run.hold = next
	return nil
}
