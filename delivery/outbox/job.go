package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"schakel/store"
)

// Actions of a job.
const (
	ActionResend  = "resend"
	ActionDiscard = "discard"
	ActionReplay  = "replay"
)

// jobStep is the number of deliveries that one transaction of a job handles.
const jobStep = 200

// StartJob resends or discards every delivery that the filter selects now, in small steps in the background. A discard needs a
// reason. A partner's filter is limited to its own deliveries. The job's Total is the count at the start.
func (e *Engine) StartJob(ctx context.Context, actor Actor, action string, f store.DeliveryFilter, reason string) (store.ResendJob, error) {
	if action != ActionResend && action != ActionDiscard {
		return store.ResendJob{}, fmt.Errorf("unknown action %q", action)
	}
	if action == ActionDiscard && reason == "" {
		return store.ResendJob{}, ErrReasonMissing
	}
	f = e.jobFilter(actor, f)
	n, err := e.cfg.DB.CountDeliveries(ctx, f)
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("count deliveries: %w", err)
	}
	return e.startJob(ctx, actor, job{action: action, filter: f, reason: reason, total: n}, map[string]any{"count": n, "reason": reason})
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
}

func (e *Engine) startJob(ctx context.Context, actor Actor, n job, audited map[string]any) (store.ResendJob, error) {
	filter, err := json.Marshal(n.filter)
	if err != nil {
		return store.ResendJob{}, fmt.Errorf("encode filter: %w", err)
	}
	j := store.ResendJob{
		PartnerID: actor.PartnerID, Action: n.action, Filter: string(filter), Reason: n.reason, Total: int64(n.total), TotalMore: n.more, CreatedBy: actor.Name,
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
var ErrTooManyJobs = errors.New("twenty jobs of your organisation run already: wait until one is done, or stop one")

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
		if err := tx.UpdateResendJob(ctx, &j); err != nil {
			return err
		}
		return actor.auditJob(ctx, tx, "deliveries.cancel", j, map[string]any{"what": j.Action, "count": j.Done, "total": j.Total})
	})
}
