package store_test

import (
	"testing"
	"time"

	"schakel/store"
)

// What a node claimed is free once it is buried, and not as long as it lives, whatever its lease.
func TestClaimsOfNodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.newDeliveries(w.subscription, 1)[0]
		beat := func(want bool) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				known, err := tx.Beat(w.ctx, "a")
				same(t, known, err, want)
				return nil
			})
		}
		beat(false)
		beat(true)
		same(t, w.claim("a", 10), nil, []string{id})
		bury := func(beats int64, want bool) {
			t.Helper()
			w.write(func(tx *store.Tx) error {
				done, err := tx.BuryNode(w.ctx, store.Node{ID: "a", Beats: beats})
				same(t, done, err, want)
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
			mine, err := tx.StartTask(w.ctx, store.ClusterTask{Name: "cut"}, "dead", w.in(time.Hour))
			same(t, mine, err, true)
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
