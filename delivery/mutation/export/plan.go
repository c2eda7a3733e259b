package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"schakel/store"
)

const (
	// againAfter delays the next try of work that failed.
	againAfter = time.Minute
	// renewBefore has another snapshot made so long before the deltas behind the newest one begin to expire, whatever the
	// schedule says: without it a copy that is rebuilt could not go on.
	renewBefore = 7 * 24 * time.Hour
	// stillLoad ends the wait of a first snapshot for an initial load of which nothing has come for so long.
	stillLoad = 10 * time.Minute
	// mostAhead limits the difference between the clocks of nodes, a wrong time zone included.
	mostAhead = 24 * time.Hour
)

// DeltaTask is the name of making deltas of a dataset among the work of the cluster.
func DeltaTask(datasetID string) string { return "delta " + datasetID }

// SnapshotTask is the name of making snapshots of a dataset among the work of the cluster.
func SnapshotTask(datasetID string) string { return "snapshot " + datasetID }

// DeltaDue tells when the next delta of a dataset has to be made; seen is its task as it is now, with its name alone when it
// never ran. The zero time is never.
func (e *Exporter) DeltaDue(ctx context.Context, set store.Dataset, seen store.ClusterTask) (time.Time, error) {
	due := nextRun(set, set.DeltaSchedule, set.DeltaAskedAt, e.believed(seen))
	if set.Status == store.DatasetActive || !set.DeltaAskedAt.IsZero() || due.IsZero() {
		return due, nil
	}
	next, err := e.cfg.DB.NextMutationDelta(ctx, set.ID) // an ended one gets its last delta
	if err != nil {
		return time.Time{}, fmt.Errorf("find next delta: %w", err)
	}
	if next.FromSeq == next.ToSeq {
		return time.Time{}, nil
	}
	return due, nil
}

// SnapshotDue tells when the next snapshot of a dataset has to be made: as its schedule says, when somebody asked, when there
// is none of the lineage while somebody subscribes, and a week before the deltas behind the newest one begin to expire. Of a
// dataset that has ended the schedule does not count.
func (e *Exporter) SnapshotDue(ctx context.Context, set store.Dataset, seen store.ClusterTask) (time.Time, error) {
	seen = e.believed(seen)
	due := nextRun(set, set.SnapshotSchedule, set.SnapshotAskedAt, seen)
	if running(seen) || !set.SnapshotAskedAt.IsZero() {
		return due, nil
	}
	if set.Status != store.DatasetActive { // one that has ended is brought to its end, and not made again and again
		due = time.Time{}
	}
	needed, err := e.needed(ctx, set)
	if err != nil || needed.IsZero() {
		return due, err
	}
	needed = tryAgain(needed, seen)
	if due.IsZero() || needed.Before(due) {
		return needed, nil
	}
	return due, nil
}

// believed is a task as if it never ran when it began long after now: by a clock that was set back since. Else nothing would
// be due until then.
func (e *Exporter) believed(seen store.ClusterTask) store.ClusterTask {
	if seen.StartedAt.After(e.cfg.Now().Add(mostAhead)) {
		return store.ClusterTask{Name: seen.Name}
	}
	return seen
}

// needed tells when a snapshot is needed whatever the schedule says; the zero time when it is not known to be.
func (e *Exporter) needed(ctx context.Context, set store.Dataset) (time.Time, error) {
	newest, err := e.cfg.DB.LatestMutationSnapshot(ctx, set.ID)
	if errors.Is(err, store.ErrNotFound) {
		return e.firstNeeded(ctx, set)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("find newest snapshot: %w", err)
	}
	behind, _, err := e.cfg.DB.MutationDeltas(ctx, store.MutationDeltaFilter{
		DatasetID: set.ID, Lineage: set.Lineage, After: newest.DeltaNumber, Page: store.Page{Number: 1, Size: 1},
	})
	if err != nil || len(behind) == 0 {
		return time.Time{}, err
	}
	return behind[0].ToAt.Add(Retention - renewBefore), nil
}

// firstNeeded tells when somebody needs the first snapshot of a lineage. While an initial load comes in, it waits, but not for
// one of which nothing came for a while: its node may have died.
func (e *Exporter) firstNeeded(ctx context.Context, set store.Dataset) (time.Time, error) {
	readers, err := e.cfg.DB.MutationReaders(ctx, set.ID)
	if err != nil || len(readers) == 0 {
		return time.Time{}, err
	}
	loads, _, err := e.cfg.DB.Publications(ctx, store.PublicationFilter{
		DatasetID: set.ID, Kind: store.PublicationInitial, Status: store.MutationRunning, Page: store.Page{Number: 1, Size: 1},
	})
	if err != nil {
		return time.Time{}, err
	}
	if len(loads) > 0 && loads[0].UpdatedAt.Add(stillLoad).After(set.LineageAt.Time) {
		return loads[0].UpdatedAt.Add(stillLoad), nil // nobody may ever go on with it
	}
	return set.LineageAt.Time, nil
}

func running(seen store.ClusterTask) bool { return !seen.StartedAt.IsZero() && seen.Running() }

// nextRun tells when work has to be done by its schedule, or because somebody asked.
func nextRun(set store.Dataset, schedule string, asked store.Time, seen store.ClusterTask) time.Time {
	switch {
	case running(seen):
		return seen.LeaseUntil.Time // its node may have died
	case !asked.IsZero():
		return tryAgain(asked.Time, seen)
	case schedule == "":
		return time.Time{}
	}
	plan, err := cron.ParseStandard(schedule)
	if err != nil {
		return time.Time{} // it was checked when it was written
	}
	since := set.CreatedAt
	if seen.StartedAt.After(since.Time) {
		since = seen.StartedAt
	}
	due := plan.Next(since.UTC())
	if again := afterFailure(seen); seen.Error != "" && again.Before(due) {
		return again // a schedule of once a day is not a day of delay
	}
	return due
}

// tryAgain has work that failed wait a little.
func tryAgain(due time.Time, seen store.ClusterTask) time.Time {
	if again := afterFailure(seen); seen.Error != "" && again.After(due) {
		return again
	}
	return due
}

// afterFailure gives the time at which work that failed is tried again: what took long before it failed waits as long.
func afterFailure(seen store.ClusterTask) time.Time {
	return seen.FinishedAt.Add(max(againAfter, seen.FinishedAt.Sub(seen.StartedAt.Time)))
}
