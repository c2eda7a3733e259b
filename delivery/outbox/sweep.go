package outbox

import (
	"context"
	"errors"
	"time"

	"schakel/store"
)

// sweepStep bounds the rows one transaction of the sweep changes, so that intake does not wait for it.
const sweepStep = 500

// sweepLoop holds the deliveries that may not be sent any more, and releases those that may be sent again. Claim keeps
// guarantee G2 by itself; the sweep makes the held deliveries show.
func (e *Engine) sweepLoop(ctx context.Context) {
	ticker := time.NewTicker(6 * e.cfg.Poll)
	defer ticker.Stop()
	expiry := true
	for {
		err := e.sweepAll(ctx)
		if expiry {
			err = errors.Join(err, e.expireKeys(ctx))
		}
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("sweep failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.sweep:
			expiry = false
		case <-ticker.C:
			expiry = true
		}
	}
}

// expireKeys ends the deliveries that could not be sent while their Idempotency-Key was valid.
func (e *Engine) expireKeys(ctx context.Context) error {
	found, err := e.cfg.DB.HasExpiredKeys(ctx, store.At(e.cfg.Now()))
	if err != nil || !found {
		return err
	}
	for {
		var expired int64
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			expired, err = tx.ExpireKeys(ctx, sweepStep)
			return err
		})
		if err != nil || expired < sweepStep {
			return err
		}
	}
}

func (e *Engine) sweepAll(ctx context.Context) error {
	for {
		var held, released int64
		err := e.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			if held, err = tx.HoldStopped(ctx, sweepStep); err != nil {
				return err
			}
			released, err = tx.ReleaseHeld(ctx, sweepStep)
			return err
		})
		if err != nil {
			return err
		}
		if released > 0 {
			e.wakeAll()
		}
		if held < sweepStep && released < sweepStep {
			return nil
		}
	}
}
