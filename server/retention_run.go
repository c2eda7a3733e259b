package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/server/cli"
	"schakel/store"
)

// How tasks are run.
const (
	taskPoll   = time.Minute           // how often a node looks whether a task became due or its node died
	taskLease  = time.Minute           // how long a node may be silent before another takes its task over
	pruneLimit = 500                   // rows a transaction
	shortPause = 10 * time.Millisecond // at least, between two transactions
)

// retention is the service that removes what is over, in small steps with pauses, so that intake and delivery hardly
// notice. Of all nodes on a database one works at a task at a time; when it dies another goes on where it was.
type retention struct {
	db     *store.DB
	log    *slog.Logger
	now    func() time.Time
	node   string
	tasks  []pruneTask
	counts *retentionCounts
	first  pruneStep // what is done before anything comes in

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (r *retention) Name() string { return "retention" }

// Start implements Service.
func (r *retention) Start(ctx context.Context) error {
	err := r.db.Write(ctx, func(tx *store.Tx) error {
		_, err := r.first(tx, ctx, tx.Now, "", pruneLimit)
		return err
	})
	if err != nil { // the default partition takes what comes in
		r.log.WarnContext(ctx, "cannot make the partitions of the days to come now; this is tried again later", "error", err)
	}
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range r.tasks {
		r.done.Go(func() { r.loop(ctx, t) })
	}
	return nil
}

// Stop implements Service: it breaks off after the step at hand; another node, or the next start, does the rest.
func (r *retention) Stop(ctx context.Context) error {
	r.cancel()
	return waitFor(ctx, &r.done)
}

// Ready implements Readier: it fails while the tasks cannot be read.
func (r *retention) Ready(ctx context.Context) error {
	_, err := r.db.ClusterTasks(ctx)
	return err
}

func (r *retention) loop(ctx context.Context, t pruneTask) {
	for {
		next, err := r.turn(ctx, t)
		if err != nil && ctx.Err() == nil {
			r.counts.failed.WithLabelValues(t.name).Inc()
			r.log.ErrorContext(ctx, "pruning failed", "task", t.name, "error", err)
			next = r.now().Add(taskPoll)
		}
		wait := min(max(next.Sub(r.now()), time.Second), taskPoll)
		if !cli.Pause(ctx, wait) {
			return
		}
	}
}

// turn runs a task when it is due and no other node does, and tells when to look again.
func (r *retention) turn(ctx context.Context, t pruneTask) (time.Time, error) {
	seen, err := seenTask(ctx, r.db, t.name)
	if err != nil {
		return time.Time{}, err
	}
	now := r.now()
	if due := t.due(seen); now.Before(due) {
		return due, nil
	}
	mine := false
	err = r.db.Write(ctx, func(tx *store.Tx) (err error) {
		mine, err = tx.StartTask(ctx, seen, r.node, store.At(tx.Now.Add(taskLease)))
		return err
	})
	if err != nil || !mine {
		return now.Add(taskPoll), err
	}
	return t.schedule.Next(now.UTC()), r.finish(ctx, t, r.run(ctx, t, seen.Cursor))
}

// due returns when the task has to run next; the zero time when it never ran. A run that was not finished may be taken over
// when its lease ends.
func (t pruneTask) due(seen store.ClusterTask) time.Time {
	switch {
	case seen.StartedAt.IsZero():
		return time.Time{}
	case seen.Running():
		return seen.LeaseUntil.Time
	}
	return t.schedule.Next(seen.StartedAt.UTC())
}

// run does step after step until nothing is left.
func (r *retention) run(ctx context.Context, t pruneTask, cursor string) error {
	keep := t.keep
	if t.least != nil {
		least, err := t.least(ctx)
		if err != nil {
			return fmt.Errorf("read how long to keep: %w", err)
		}
		keep = max(keep, least)
	}
	for {
		began := time.Now()
		p, err := r.step(ctx, t, keep, cursor)
		if err != nil {
			return err
		}
		r.counts.rows.WithLabelValues(t.name).Add(float64(p.Rows))
		if p.Done {
			return nil
		}
		cursor = p.Cursor
		// As long again as it took, so that others get at least half of the database's time.
		if !cli.Pause(ctx, max(time.Since(began), shortPause)) {
			return ctx.Err()
		}
	}
}

// step does one small step in a transaction, which fails when this node has lost the task.
func (r *retention) step(ctx context.Context, t pruneTask, keep time.Duration, cursor string) (p store.Pruned, err error) {
	err = r.db.Write(ctx, func(tx *store.Tx) (err error) {
		if err = tx.StepTask(ctx, t.name, r.node, store.At(tx.Now.Add(taskLease))); err != nil {
			return err
		}
		if p, err = t.step(tx, ctx, store.At(tx.Now.Add(-keep)), cursor, pruneLimit); err != nil {
			return err
		}
		return tx.KeepTask(ctx, t.name, p)
	})
	return p, err
}

// finish writes what came of a run. One that was broken off is left to another node at once.
func (r *retention) finish(ctx context.Context, t pruneTask, failure error) error {
	if errors.Is(failure, store.ErrLeaseLost) {
		r.log.WarnContext(ctx, "another node has taken a task over", "task", t.name)
		return nil
	}
	stopped := failure != nil && ctx.Err() != nil
	return errors.Join(failure, finishTask(ctx, r.db, t.name, r.node, failure, stopped))
}
