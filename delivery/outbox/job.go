package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"schakel/store"
)

// Actions of a job.
const (
	ActionResend  = "resend"
	ActionDiscard = "discard"
)

// jobStep is how many deliveries one transaction of a job handles.
const jobStep = 200

// StartJob resends or discards every delivery that the filter selects now, in small steps in the background. A discard
// needs a reason. A partner's filter is limited to its own deliveries. The job's Total is the count at the start.
func (e *Engine) StartJob(ctx context.Context, actor Actor, action string, f store.DeliveryFilter, reason string) (store.ResendJob, error) {
	if action != ActionResend && action != ActionDiscard {
		return store.ResendJob{}, fmt.Errorf("unknown action %q", action)
	}
	if action == ActionDiscard && reason == "" {
		return store.ResendJob{}, ErrReasonMissing
	}
	if actor.PartnerID != "" {
		f.PartnerID = actor.PartnerID
	}
	if len(f.Statuses) == 0 {
		f.Statuses = []string{store.DeliveryHeld, store.DeliveryDead}
	}
	now := store.At(e.cfg.Now())
	if f.Until.IsZero() || f.Until.After(now.Time) {
		f.Until = now // what fails again after the start is not the job's any more
	}
	filter, err := json.Marshal(f)
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("keep filter: %w", err)
	}
	j := store.ResendJob{PartnerID: actor.PartnerID, Action: action, Filter: string(filter), Reason: reason, CreatedBy: actor.Name}
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.CountDeliveries(ctx, f)
		if err != nil {
			return err
		}
		j.Total = int64(n)
		if err := tx.InsertResendJob(ctx, &j); err != nil {
			return err
		}
		return tx.InsertAudit(ctx, store.Audit{
			ActorKind: actor.Kind, ActorID: actor.ID, ActorName: actor.Name, Action: "deliveries." + action, ObjectKind: "job", ObjectID: j.ID,
			PartnerID: actor.PartnerID, Detail: detail(map[string]any{"count": n, "reason": reason}),
		})
	})
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("start job: %w", err)
	}
	store.AfterCommit(ctx, func() { signal(e.jobs) })
	return j, nil
}

// CancelJob stops a running job after its present step.
func (e *Engine) CancelJob(ctx context.Context, actor Actor, id string) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		j, err := tx.LockResendJob(ctx, id)
		if err != nil {
			return err
		}
		if !actor.sees(j.PartnerID) {
			return store.ErrNotFound
		}
		if j.Status != store.JobRunning {
			return nil
		}
		j.Status, j.FinishedAt = store.JobCancelled, tx.Now
		return tx.UpdateResendJob(ctx, &j)
	})
}

// jobLoop works on running jobs, also those a dead process left.
func (e *Engine) jobLoop(ctx context.Context) {
	ticker := time.NewTicker(6 * e.cfg.Poll)
	defer ticker.Stop()
	for {
		if err := e.runJobs(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("resend job failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.jobs:
		case <-ticker.C:
		}
	}
}

func (e *Engine) runJobs(ctx context.Context) error {
	for {
		jobs, err := e.cfg.DB.RunningResendJobs(ctx)
		if err != nil || len(jobs) == 0 {
			return err
		}
		e.refresh(ctx)
		for _, j := range jobs {
			if err := e.stepJob(ctx, j.ID); err != nil {
				return fmt.Errorf("job %s: %w", j.ID, err)
			}
		}
		e.readyAll()
		signal(e.wake)
	}
}

// stepJob does the next step of a job and keeps how far it is in the same transaction.
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
	return e.resend(ctx, tx, d)
}
