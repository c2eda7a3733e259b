package store_test

import (
	"errors"
	"testing"
	"time"

	"schakel/store"
)

const minute = time.Minute

// start tries to start a task as it is now.
func (w *world) start(owner string, seen store.ClusterTask) (started bool) {
	w.t.Helper()
	w.write(func(tx *store.Tx) (err error) {
		started, err = tx.StartTask(w.ctx, seen, owner, w.in(minute))
		return err
	})
	return started
}

func (w *world) task(name string) store.ClusterTask {
	w.t.Helper()
	task, err := w.db.ClusterTask(w.ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return store.ClusterTask{Name: name}
	}
	same(w.t, err, nil, nil)
	return task
}

// One node holds a task at a time; what another wrote of it is undone; who dies is followed up where it was.
func TestClusterTask(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		unknown := w.task("prune")
		same(t, w.start("a", unknown), nil, true)
		same(t, w.start("b", unknown), nil, false) // saw the same, was slower
		seen := w.task("prune")
		same(t, seen.Running(), nil, true)

		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.StepTask(w.ctx, "prune", "a", w.in(minute)), tx.KeepTask(w.ctx, "prune", store.Pruned{Rows: 5, Cursor: "here"}))
		})
		w.fails(store.ErrLeaseLost, func(tx *store.Tx) error { return tx.StepTask(w.ctx, "prune", "b", w.in(minute)) })

		w.clock.Advance(2 * minute) // a is dead
		same(t, w.start("b", w.task("prune")), nil, true)
		got := w.task("prune")
		same(t, [3]any{got.Owner, got.Cursor, got.Removed}, nil, [3]any{"b", "here", int64(5)})
		w.fails(store.ErrLeaseLost, func(tx *store.Tx) error { return tx.StepTask(w.ctx, "prune", "a", w.in(minute)) })

		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.FinishTask(w.ctx, "prune", "a", "not mine"), tx.FinishTask(w.ctx, "prune", "b", ""))
		})
		got = w.task("prune")
		same(t, [2]any{got.Running(), got.Error}, nil, [2]any{false, ""})

		w.clock.Advance(minute)
		same(t, w.start("a", got), nil, true)
		same(t, w.task("prune").Removed, nil, int64(0)) // a new run counts anew
		w.write(func(tx *store.Tx) error { return tx.LetGoOfTask(w.ctx, "prune", "a") })
		same(t, w.task("prune").LeaseUntil, nil, w.now())
		all, err := w.db.ClusterTasks(w.ctx)
		same(t, len(all), err, 1)
	})
}
