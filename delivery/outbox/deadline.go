package outbox

import (
	"context"

	"schakel/store"
)

// bounded is ctx with a deadline on PostgreSQL, so that a connection that is swallowed without a word does not hold intake up
// until TCP gives up. A group commit that was cut off is tried again: what it wrote is known by then. SQLite has no
// connection that can be lost, and a context that can end costs its driver.
func (e *Engine) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.cfg.DB.Dialect() == store.SQLite {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, e.cfg.Deadline)
}

// writeOn runs fn in a transaction that is brought to its end also when the engine stops.
func (e *Engine) writeOn(ctx context.Context, fn func(ctx context.Context, tx *store.Tx) error) error {
	ctx, cancel := e.bounded(context.WithoutCancel(ctx))
	defer cancel()
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return fn(ctx, tx) })
}
