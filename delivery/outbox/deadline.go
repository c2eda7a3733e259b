package outbox

import (
	"context"

	"schakel/store"
)

// bounded puts a deadline on ctx on PostgreSQL, so that a connection that is silently dropped does not hold intake up until
// TCP gives up. A group commit that was cut off is retried: what it wrote is known by then. SQLite has no connection to lose,
// and a context that can end costs its driver.
func (e *Engine) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.cfg.DB.Dialect() == store.SQLite {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, e.cfg.Deadline)
}

// writeOn runs fn in a transaction that is finished also when the engine stops.
func (e *Engine) writeOn(ctx context.Context, fn func(ctx context.Context, tx *store.Tx) error) error {
	ctx, cancel := e.bounded(context.WithoutCancel(ctx))
	defer cancel()
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error { return fn(ctx, tx) })
}
