package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// Care bounds a job that resends. The zero Care resends all as fast as it can.
type Care struct {
	// Canary resends the oldest delivery of each endpoint first, and the rest only when those were delivered.
	Canary bool
	// Rate bounds the deliveries a minute; 0 does not.
	Rate int
}

// MaxJobRate bounds the rate of a job, in deliveries a minute: a thousand a second.
const MaxJobRate = 60_000

// ErrRate: a rate is out of bounds; the text may be shown.
var ErrRate = refusal(i18n.M("outbox.rate", MaxJobRate))

func (c Care) check() error {
	if c.Rate < 0 || c.Rate > MaxJobRate {
		return ErrRate
	}
	return nil
}

// ContinueJob has a job that stopped for its canary go on with the rest.
func (e *Engine) ContinueJob(ctx context.Context, actor Actor, id string) error {
	err := e.decideJob(ctx, actor, id, "deliveries.continue", func(_ *store.Tx, j *store.ResendJob) bool {
		if j.Status != store.JobStopped {
			return false
		}
		j.Status, j.Stage = store.JobRunning, ""
		return true
	})
	if err == nil {
		store.AfterCommit(ctx, func() { signal(e.jobs) })
	}
	return err
}

// mostLate bounds what a job with a rate makes up for when it comes late, as after a restart.
const mostLate = 10 * time.Second

// allowance returns how many deliveries the next step of a job may handle, and how its next step is dated when it handled n of them.
func allowance(j store.ResendJob, now store.Time) (most int, next func(n int) store.Time) {
	if j.Rate == 0 {
		return jobStep, func(int) store.Time { return store.Time{} }
	}
	each := time.Minute / time.Duration(j.Rate)
	from := j.NextAt.Time
	if from.Before(now.Add(-mostLate)) {
		from = now.Time // also of a job that begins
	}
	if from.After(now.Time) {
		return 0, nil
	}
	most = min(jobStep, 1+int(now.Sub(from)/each))
	return most, func(n int) store.Time { return store.At(from.Add(time.Duration(n) * each)) }
}

// mostCanaries bounds the deliveries of one endpoint that are tried as its canary: those that cannot be resent do not count.
const mostCanaries = 100

// chooseCanaries resends the oldest delivery of each endpoint that can be, each in a transaction of its own.
func (e *Engine) chooseCanaries(ctx context.Context, j store.ResendJob) error {
	var f store.DeliveryFilter
	if err := json.Unmarshal([]byte(j.Filter), &f); err != nil {
		return fmt.Errorf("read filter: %w", err)
	}
	endpoints, err := e.cfg.DB.EndpointsOf(ctx, f)
	if err != nil {
		return fmt.Errorf("find endpoints of job: %w", err)
	}
	for _, endpoint := range endpoints {
		if err := e.chooseCanary(ctx, j.ID, f, endpoint); err != nil {
			return fmt.Errorf("resend canary to %s: %w", endpoint, err)
		}
	}
	return e.changeStage(ctx, j.ID, store.StageChoosing, func(_ *store.Tx, j *store.ResendJob) error {
		j.Stage = store.StageCanary
		return nil
	})
}

func (e *Engine) chooseCanary(ctx context.Context, jobID string, f store.DeliveryFilter, endpoint string) error {
	f.EndpointID = endpoint
	return e.changeStage(ctx, jobID, store.StageChoosing, func(tx *store.Tx, j *store.ResendJob) error {
		chosen, err := tx.ResendCanaries(ctx, jobID)
		if err != nil {
			return err
		}
		for _, c := range chosen {
			if c.EndpointID == endpoint {
				return nil // by a process that died, or by another node
			}
		}
		ids, err := tx.DeliveryIDs(ctx, f, mostCanaries)
		if err != nil {
			return err
		}
		settle, err := tx.LockOrder(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			d, err := tx.Delivery(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			done, err := e.resend(ctx, tx, d)
			if err != nil {
				return err
			}
			if !done {
				continue // the job comes to it again and records the reason
			}
			j.Done++
			err = errors.Join(tx.MarkResent(ctx, d, jobID),
				tx.InsertCanary(ctx, store.ResendCanary{JobID: jobID, EndpointID: endpoint, DeliveryID: id, Outcome: store.CanaryPending}))
			if err != nil {
				return err
			}
			break
		}
		return settle(ctx)
	})
}

// watchCanaries reads the outcomes of the canaries. It reports whether the job goes on: with the rest when all were delivered,
// and not at all when one was not.
func (e *Engine) watchCanaries(ctx context.Context, j store.ResendJob) (moved bool, err error) {
	canaries, err := e.cfg.DB.ResendCanaries(ctx, j.ID)
	if err != nil {
		return false, err
	}
	pending := false
	for _, c := range canaries {
		outcome, err := CanaryOutcome(ctx, &e.cfg.DB.Queries, c)
		if err != nil {
			return false, err
		}
		pending = pending || outcome == store.CanaryPending
		moved = moved || outcome == store.CanaryFailed
	}
	if moved = moved || !pending; !moved {
		return false, nil
	}
	return true, e.changeStage(ctx, j.ID, store.StageCanary, func(tx *store.Tx, j *store.ResendJob) error {
		for _, c := range canaries {
			outcome, err := CanaryOutcome(ctx, &tx.Queries, c)
			if err != nil {
				return err
			}
			if c.Outcome = outcome; outcome == store.CanaryFailed && j.Status == store.JobRunning {
				j.Status = store.JobStopped
				if j.StoppedFor, err = canaryFailure(ctx, tx, c); err != nil {
					return err
				}
			}
			if err := tx.UpdateCanary(ctx, c); err != nil {
				return err
			}
		}
		if j.Status == store.JobRunning && !pending {
			j.Stage = ""
		}
		return nil
	})
}

// CanaryOutcome reads what became of a canary. One that waits for its next attempt failed: its receiver does not take it now.
func CanaryOutcome(ctx context.Context, q *store.Queries, c store.ResendCanary) (string, error) {
	d, err := q.Delivery(ctx, c.DeliveryID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.CanaryFailed, nil
	case err != nil:
		return "", err
	case d.Status == store.DeliveryDelivered:
		return store.CanaryDelivered, nil
	case d.Status == store.DeliveryPending:
		return store.CanaryPending, nil
	}
	return store.CanaryFailed, nil
}

// canaryFailure names the endpoint whose canary was not delivered.
func canaryFailure(ctx context.Context, tx *store.Tx, c store.ResendCanary) (string, error) {
	name := c.EndpointID
	ep, err := tx.Endpoint(ctx, c.EndpointID)
	if err == nil {
		name = ep.Name
	} else if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	return string(i18n.M("outbox.canary-failed", name)), nil
}

// changeStage changes a job that runs and is at this stage still.
func (e *Engine) changeStage(ctx context.Context, id, stage string, change func(tx *store.Tx, j *store.ResendJob) error) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		j, err := tx.LockResendJob(ctx, id)
		if err != nil || j.Status != store.JobRunning || j.Stage != stage {
			return err
		}
		if err := change(tx, &j); err != nil {
			return err
		}
		return tx.UpdateResendJob(ctx, &j)
	})
}
