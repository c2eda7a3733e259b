package main

import (
	"context"
	"errors"
	"time"

	"schakel/delivery/mutation/export"
	"schakel/store"
)

// conflictTries sets how often a delta is begun anew while others cut.
const conflictTries = 5

// mutationJob makes something of each dataset now and then.
type mutationJob struct {
	kind   string // as store.TroubleDelta
	task   func(datasetID string) string
	due    func(context.Context, store.Dataset, store.ClusterTask) (time.Time, error)
	work   func(context.Context, store.Dataset) error
	leases leases
}

// begin does work on a dataset in the background, when it is due and no other node does.
func (m *mutations) begin(ctx context.Context, set store.Dataset, job *mutationJob) error {
	name := job.task(set.ID)
	seen, err := job.leases.seen(ctx, name)
	if err != nil {
		return err
	}
	due, err := job.due(ctx, set, seen)
	if err != nil || due.IsZero() || m.now().Before(due) || !job.leases.begin(name) {
		return err
	}
	m.done.Go(func() {
		defer job.leases.end(name)
		err := job.leases.turn(ctx, seen, func(ctx context.Context) error {
			failure := job.work(ctx, set)
			m.note(ctx, set, job.kind, failure)
			return failure
		})
		if err != nil && ctx.Err() == nil {
			m.log.ErrorContext(ctx, "a delivery of a dataset failed", "task", name, "error", err)
		}
	})
	return nil
}

// note keeps for people what came of work on a dataset. What was broken off, or overtaken by others, is begun anew and says
// nothing.
func (m *mutations) note(ctx context.Context, set store.Dataset, kind string, failure error) {
	if ctx.Err() != nil || errors.Is(failure, store.ErrConflict) {
		return
	}
	var err error
	if failure != nil {
		err = m.datasets.Failed(ctx, set.ID, kind, failureText(failure))
	} else if troubles, e := m.db.MutationTroubles(ctx, set.ID); e != nil || len(troubles) > 0 {
		err = errors.Join(e, m.datasets.Worked(ctx, set.ID, kind))
	}
	if err != nil {
		m.log.WarnContext(ctx, "what came of a delivery of a dataset is not noted", "dataset", set.ID, "kind", kind, "error", err)
	}
}

// failureText describes a failure for an administrator.
func failureText(failure error) string {
	if store.Away(failure) {
		return "the database could not be reached, or has no room (" + failure.Error() + ")."
	}
	return "what is kept of the dataset could not be written as a file (" + failure.Error() + "). The log of the program says more."
}

// delta cuts a delta of what is new. What was asked for is done only when all that was there then is in deltas: another node
// may cut at the same time, but have begun before.
func (m *mutations) delta(ctx context.Context, set store.Dataset) error {
	var d store.MutationDelta
	err := store.ErrConflict
	for n := 0; n < conflictTries && errors.Is(err, store.ErrConflict); n++ {
		d, err = m.exporter.MakeDelta(ctx, set.ID, export.Options{})
	}
	switch {
	case err == nil:
		m.counts.made("delta", d.Bytes)
		m.log.InfoContext(ctx, "delta cut", "dataset", set.ID, "number", d.Number, "groups", d.ToSeq-d.FromSeq, "bytes", d.Bytes)
	case !errors.Is(err, export.ErrNothingNew):
		return err
	}
	if set.DeltaAskedAt.IsZero() {
		return nil
	}
	return m.db.Write(ctx, func(tx *store.Tx) error { return tx.AnswerDelta(ctx, set.ID, set.DeltaAskedAt) })
}

func (m *mutations) snapshot(ctx context.Context, set store.Dataset) error {
	s, err := m.exporter.Snapshot(ctx, set.ID)
	if err != nil {
		return err
	}
	m.counts.made("snapshot", s.Bytes)
	m.log.InfoContext(ctx, "snapshot made", "dataset", set.ID, "states", s.Done, "bytes", s.Bytes)
	if set.SnapshotAskedAt.IsZero() {
		return nil
	}
	return m.db.Write(ctx, func(tx *store.Tx) error { return tx.AnswerSnapshot(ctx, set.ID, set.SnapshotAskedAt) })
}
