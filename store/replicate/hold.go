package replicate

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// turnWait bounds how long others wait for a folder that keeps the replica busy.
const turnWait = 5 * time.Second

// watch lets go of SQLite's log when a step takes too long: the run is over then, and the database goes on as without a replica.
func (r *Replicator) watch(ctx context.Context) {
	for tick := time.NewTicker(min(time.Second, r.cfg.Patience)); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
		if began := r.began.Load(); began != 0 && r.cfg.Now().Sub(time.Unix(0, began)) > r.cfg.Patience && r.letGo() {
			r.cfg.Log.ErrorContext(ctx, "the folder of the replica does not answer: the copy begins anew when it does", "folder", r.cfg.Folder)
		}
	}
}

// letGo ends the reader that holds the log, and reports whether there was one.
func (r *Replicator) letGo() bool {
	held := r.held.Swap(nil)
	if held != nil {
		held.end()
	}
	return held != nil
}

// abandon ends the run. SQLite may begin its log anew then.
func (r *Replicator) abandon() {
	if r.run == nil {
		return
	}
	r.run.copying.stop()
	r.letGo()
	r.run = nil
}

// Turn has SQLite copy all of its log into the database and begin it anew, as far as readers let it. Nobody in this process writes meanwhile. It
// does nothing when the folder keeps the replica busy for long.
func (r *Replicator) Turn(ctx context.Context) error {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-time.After(min(turnWait, r.cfg.Patience)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.run == nil || r.held.Load() == nil {
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
	before := r.held.Load()
	if before == nil || !r.held.CompareAndSwap(before, next) { // let go meanwhile
		next.end()
		return nil
	}
	before.end()
	return nil
}
