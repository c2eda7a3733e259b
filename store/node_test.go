package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// What a node claimed is free once it is buried, and not as long as it lives, whatever its lease.
func TestClaimsOfNodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.newDeliveries(w.subscription, 1)[0]
		beat := func(want bool) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				gives(t, want)(tx.Beat(w.ctx, "a"))
				return nil
			})
		}
		beat(false)
		beat(true)
		same(t, w.claim("a", 10), nil, []string{id})
		bury := func(beats int64, want bool) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				gives(t, want)(tx.BuryNode(w.ctx, store.Node{ID: "a", Beats: beats}))
				return nil
			})
		}
		bury(1, false) // it has beaten since
		if w.db.Dialect() == store.Postgres {
			w.db.SetLiving([]string{"a"})
			w.clock.Advance(time.Hour)
			same(t, w.claim("b", 10), nil, []string{})
			w.db.SetLiving(nil)
		}
		bury(2, true)
		bury(2, false)
		same(t, w.claim("b", 10), nil, []string{id})
		beat(false)
		w.write(func(tx *store.Tx) error { return tx.EndNode(w.ctx, "a") })
		nodes, err := w.db.Nodes(w.ctx)
		same(t, len(nodes), err, 0)
	})
}

// Where one process works, its start waits for no lease of a task or a download that it held before it was killed.
func TestFreeTasks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) error {
			gives(t, true)(tx.StartTask(w.ctx, store.ClusterTask{Name: "cut"}, "dead", w.in(time.Hour)))
			return tx.FreeTasks(w.ctx)
		})
		same(t, w.task("cut").LeaseUntil, nil, w.now())
		w.history("bgt", 5)
		w.cut("bgt", "one")
		w.wanted("d1", "one", "", "cli_1")
		first, err := w.claimDownload("dead")
		same(t, first.Owner, err, "dead")
		_, err = w.claimDownload("new")
		same(t, err, nil, store.ErrNotFound)
		answer := w.newMessage(store.AMQPOut, store.AMQPAppRec, store.AMQPDue, "m1")
		check := w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPUnchecked, "m2")
		asked := w.newMessage(store.AMQPIn, store.AMQPBusiness, store.AMQPDead, "m3")
		w.write(func(tx *store.Tx) error {
			_, err := tx.AskAMQP(w.ctx, store.AMQPFilter{ID: "m3"}, "drop", 9)
			return err
		})
		taken := func() (ids []string) {
			for _, take := range []func(tx *store.Tx) ([]store.AMQPMessage, error){
				func(tx *store.Tx) ([]store.AMQPMessage, error) { return tx.TakeAMQPAnswers(w.ctx, 9, w.in(time.Hour)) },
				func(tx *store.Tx) ([]store.AMQPMessage, error) {
					return tx.TakeAMQPUnchecked(w.ctx, 9, w.in(time.Hour))
				},
				func(tx *store.Tx) ([]store.AMQPMessage, error) { return tx.TakeAMQPAsked(w.ctx, 9, w.in(time.Hour)) },
			} {
				w.write(func(tx *store.Tx) error {
					rows, err := take(tx)
					for _, m := range rows {
						ids = append(ids, m.ID)
					}
					return err
				})
			}
			return ids
		}
		same(t, len(taken()), nil, 3)
		same(t, taken(), nil, nil)
		w.write(func(tx *store.Tx) error { return tx.FreeTasks(w.ctx) })
		again, err := w.claimDownload("new")
		same(t, again.Owner, err, "new")
		same(t, taken(), nil, []string{answer.ID, check.ID, asked.ID})
	})
}

// What the process that made a backup had claimed is due at once after a restore, and its logins have ended.
func TestEndRestored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.newDeliveries(w.subscription, 3)
		same(t, w.db.SessionSave(w.ctx, []byte("token"), []byte("x"), w.clock.Now().Add(time.Hour)), nil, nil)
		claim := func(owner string) (claimed int) {
			w.write(func(tx *store.Tx) error {
				all, err := tx.Claim(w.ctx, w.endpoint.ID, owner, 3, w.in(time.Hour))
				claimed = len(all)
				return err
			})
			return claimed
		}
		same(t, claim("dead"), nil, 3)
		same(t, claim("living"), nil, 0)
		w.write(func(tx *store.Tx) error { return tx.EndRestored(w.ctx) })
		same(t, claim("living"), nil, 3)
		_, _, found, err := w.db.SessionFind(w.ctx, []byte("token"))
		same(t, found, err, false)
	})
}

func TestNotify(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	ctx, stop := context.WithCancel(t.Context())
	listening, heard, ended := make(chan struct{}), make(chan string, 8), make(chan error)
	go func() {
		ended <- db.Listen(ctx, func() { close(listening) }, func(payload string) { heard <- payload })
	}()
	<-listening
	rollback := db.Write(t.Context(), func(tx *store.Tx) error {
		if err := tx.Notify(t.Context(), "never"); err != nil {
			t.Error(err)
		}
		return store.ErrConflict
	})
	if rollback == nil {
		t.Fatal("the transaction was not rolled back")
	}
	noErr(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.Notify(t.Context(), "work") }))
	if got := <-heard; got != "work" {
		t.Errorf("heard %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("end of listening: %v", err)
	}
}

func TestNotifyOnSQLite(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	noErr(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.Notify(t.Context(), "work") }))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := db.Listen(ctx, func() { t.Error("SQLite has nothing to listen to") }, nil); err != nil {
		t.Error(err)
	}
}

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
