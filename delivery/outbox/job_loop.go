package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"schakel/store"
)

// shortestPause is the first pause before a job that can do nothing now is looked at again. It doubles each time, up to Poll.
const shortestPause = 50 * time.Millisecond

// jobLoop works on running jobs, also those a dead process left.
func (e *Engine) jobLoop(ctx context.Context) {
	rest := shortestPause
	for {
		moved, waiting := e.runJobs(ctx)
		if moved {
			rest = shortestPause
		}
		pause := 6 * e.cfg.Poll
		if waiting {
			pause, rest = rest, min(2*rest, e.cfg.Poll)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-e.jobs:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// runJobs takes steps of the running jobs in turn until none can go on. It reports whether any did, and whether one waits. A
// job that fails does not keep the others from going on.
func (e *Engine) runJobs(ctx context.Context) (moved, waiting bool) {
	for ctx.Err() == nil {
		jobs, err := e.cfg.DB.RunningResendJobs(ctx)
		if err != nil {
			e.jobFailed(ctx, "", err)
			return moved, true
		}
		if len(jobs) == 0 {
			return moved, false
		}
		e.refresh(ctx)
		again := false
		for _, j := range jobs {
			went, err := e.takeStep(ctx, j)
			if err != nil {
				e.jobFailed(ctx, j.ID, err)
			}
			again = again || went
		}
		if !again {
			return moved, true
		}
		moved = true
	}
	return moved, false
}

func (e *Engine) jobFailed(ctx context.Context, id string, err error) {
	if ctx.Err() == nil {
		e.cfg.Log.Error("resend job failed", "job", id, "error", err)
	}
}

// takeStep takes the next step of a job and reports whether there was one to take.
func (e *Engine) takeStep(ctx context.Context, j store.ResendJob) (bool, error) {
	if j.Action == ActionReplay {
		return e.stepReplay(ctx, j)
	}
	if err := e.stepJob(ctx, j.ID); err != nil {
		return false, err
	}
	e.wakeAll()
	return true, nil
}

// stepJob takes the next step of a job and stores its progress in the same transaction.
func (e *Engine) stepJob(ctx context.Context, id string) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		j, err := tx.LockResendJob(ctx, id)
		if err != nil || j.Status != store.JobRunning {
			return err
		}
		var f store.DeliveryFilter
		if err := json.Unmarshal([]byte(j.Filter), &f); err != nil {
			return fmt.Errorf("read filter: %w", err)
		}
		f.AfterID = j.Cursor
		ids, err := tx.DeliveryIDs(ctx, f, jobStep)
		if err != nil {
			return err
		}
		settle, err := tx.LockOrder(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			done, err := e.jobItem(ctx, tx, j, id)
			if err != nil {
				return err
			}
			if done {
				j.Done++
			} else {
				j.Refused++
			}
			j.Cursor = id
		}
		if err := settle(ctx); err != nil {
			return err
		}
		if len(ids) < jobStep {
			j.Status, j.FinishedAt = store.JobDone, tx.Now
		}
		return tx.UpdateResendJob(ctx, &j)
	})
}

func (e *Engine) jobItem(ctx context.Context, tx *store.Tx, j store.ResendJob, id string) (bool, error) {
	if j.Action == ActionDiscard {
		return tx.Discard(ctx, id, j.Reason)
	}
	d, err := tx.Delivery(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	done, err := e.resend(ctx, tx, d)
	if err == nil && done {
		err = tx.MarkResent(ctx, id, j.ID)
	}
	return done, err
}
