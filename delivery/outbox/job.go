package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"schakel/store"
)

// Actions of a job.
const (
	ActionResend  = "resend"
	ActionDiscard = "discard"
	ActionReplay  = "replay"
)

// StartJob resends or discards every delivery that the filter selects now, in small steps in the background. A discard needs a
// reason. A partner's filter is limited to its own deliveries. The job's Total is the count at the start.
func (e *Engine) StartJob(ctx context.Context, actor Actor, action string, f store.DeliveryFilter, reason string) (store.ResendJob, error) {
	if action != ActionResend && action != ActionDiscard {
		return store.ResendJob{}, fmt.Errorf("unknown action %q", action)
	}
	if action == ActionDiscard && reason == "" {
		return store.ResendJob{}, ErrReasonMissing
	}
	return e.startOver(ctx, actor, f, job{action: action, reason: reason})
}

// StartResend is StartJob for a resend with care.
func (e *Engine) StartResend(ctx context.Context, actor Actor, f store.DeliveryFilter, care Care) (store.ResendJob, error) {
	if err := care.check(); err != nil {
		return store.ResendJob{}, err
	}
	return e.startOver(ctx, actor, f, job{action: ActionResend, care: care})
}

// startOver starts a job over the deliveries that a filter selects.
func (e *Engine) startOver(ctx context.Context, actor Actor, f store.DeliveryFilter, n job) (store.ResendJob, error) {
	f = e.jobFilter(actor, f)
	count, err := e.cfg.DB.CountDeliveries(ctx, f)
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("count deliveries: %w", err)
	}
	n.filter, n.total = f, count
	return e.startJob(ctx, actor, n, map[string]any{"count": count, "reason": n.reason, "canary": n.care.Canary, "rate": n.care.Rate})
}

// jobFilter limits a filter to what the actor may touch and to what was there at the start: the job leaves out what fails
// again afterwards. Without states it selects what is held or dead.
func (e *Engine) jobFilter(actor Actor, f store.DeliveryFilter) store.DeliveryFilter {
	if actor.PartnerID != "" {
		f.PartnerID = actor.PartnerID
	}
	if len(f.Statuses) == 0 {
		f.Statuses = []string{store.DeliveryHeld, store.DeliveryDead}
	}
	now := store.At(e.cfg.Now())
	if f.Until.IsZero() || f.Until.After(now.Time) {
		f.Until = now
	}
	return f
}

// job holds what startJob makes a job of; filter is stored as JSON.
type job struct {
	action, reason string
	filter         any
	total          int
	more           bool
	parts          []store.ReplayPart
	care           Care
}

func (e *Engine) startJob(ctx context.Context, actor Actor, n job, audited map[string]any) (store.ResendJob, error) {
	filter, err := json.Marshal(n.filter)
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("encode filter: %w", err)
	}
	j := store.ResendJob{
		PartnerID: actor.PartnerID, Action: n.action, Filter: string(filter), Reason: n.reason, Total: int64(n.total), TotalMore: n.more, CreatedBy: actor.Name,
		Canary: n.care.Canary, Rate: int64(n.care.Rate),
	}
	if j.Canary {
		j.Stage = store.StageChoosing
	}
	err = e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if err := mayStartJob(ctx, tx, actor); err != nil {
			return err
		}
		if err := tx.InsertResendJob(ctx, &j); err != nil {
			return err
		}
		for i := range n.parts {
			n.parts[i].JobID = j.ID
		}
		if err := tx.InsertReplayParts(ctx, n.parts); err != nil {
			return err
		}
		return actor.auditJob(ctx, tx, "deliveries."+n.action, j, audited)
	})
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("start job: %w", err)
	}
	store.AfterCommit(ctx, func() { signal(e.jobs) })
	return j, nil
}

// maxJobs bounds the jobs of one partner that run at once: each may write all its deliveries again.
const maxJobs = 20

// ErrTooManyJobs: a partner has to wait for its jobs before it starts more; the text may be shown.
var ErrTooManyJobs = refusal("outbox.too-many-jobs")

func mayStartJob(ctx context.Context, tx *store.Tx, actor Actor) error {
	if actor.PartnerID == "" {
		return nil
	}
	running, err := tx.RunningResendJobs(ctx)
	if err != nil {
		return fmt.Errorf("read running jobs: %w", err)
	}
	n := 0
	for _, j := range running {
		if j.PartnerID == actor.PartnerID {
			n++
		}
	}
	if n >= maxJobs {
		return ErrTooManyJobs
	}
	return nil
}

func (a Actor) auditJob(ctx context.Context, tx *store.Tx, action string, j store.ResendJob, members map[string]any) error {
	return a.audit(ctx, tx, store.Audit{Action: action, ObjectKind: "job", ObjectID: j.ID, PartnerID: j.PartnerID}, members)
}

// CancelJob ends a job that runs, after its present step, or that stopped.
func (e *Engine) CancelJob(ctx context.Context, actor Actor, id string) error {
	return e.decideJob(ctx, actor, id, "deliveries.cancel", func(tx *store.Tx, j *store.ResendJob) bool {
		if j.Status != store.JobRunning && j.Status != store.JobStopped {
			return false
		}
		j.Status, j.FinishedAt = store.JobCancelled, tx.Now
		return true
	})
}

// decideJob changes a job that the actor may see, and audits it; a change that reports false leaves the job as it is.
func (e *Engine) decideJob(ctx context.Context, actor Actor, id, action string, change func(tx *store.Tx, j *store.ResendJob) bool) error {
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		j, err := tx.LockResendJob(ctx, id)
		if err != nil {
			return err
		}
		if !actor.sees(j.PartnerID) {
			return store.ErrNotFound
		}
		if !change(tx, &j) {
			return nil
		}
		if err := tx.UpdateResendJob(ctx, &j); err != nil {
			return err
		}
		return actor.auditJob(ctx, tx, action, j, map[string]any{"what": j.Action, "count": j.Done, "total": j.Total})
	})
}

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
	var moved bool
	var endpoints map[string]struct{} // that have more to send; nil for any
	var err error
	switch now := e.cfg.Now(); {
	case j.Stage == store.StageChoosing:
		moved, err = true, e.chooseCanaries(ctx, j)
	case j.Stage == store.StageCanary:
		moved, err = e.watchCanaries(ctx, j)
	case j.NextAt.After(now):
		return false, nil
	default:
		moved = true
		endpoints, err = e.stepJob(ctx, j.ID)
	}
	if err != nil {
		return false, err
	}
	if endpoints != nil {
		e.ready(endpoints)
	} else if moved {
		e.wakeAll()
	}
	return moved, nil
}
