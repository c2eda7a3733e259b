package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// wantChain reads the whole chain, checks each link, and returns its actions in order.
func wantChain(t *testing.T, w *world) (actions []string) {
	t.Helper()
	head, err := w.db.AuditHead(w.ctx)
	noErr(t, err)
	rows, err := w.db.AuditsAfter(w.ctx, head.FloorSeq, 10_000)
	noErr(t, err)
	seq, hash := head.FloorSeq, head.FloorHash
	for _, a := range rows {
		if a.Seq != seq+1 || a.PrevHash != hash || a.Hash != store.AuditHash(hash, a) {
			t.Fatalf("entry %d %q does not follow entry %d %q: %+v", a.Seq, a.PrevHash, seq, hash, a)
		}
		seq, hash = a.Seq, a.Hash
		actions = append(actions, a.Action)
	}
	if head.Seq != seq || head.Hash != hash || (seq > 0) != (head.Chain != "") {
		t.Fatalf("the head is %+v behind entry %d %s", head, seq, hash)
	}
	beside, err := w.db.UnchainedAudits(w.ctx, 10)
	same(t, len(beside), err, 0)
	return actions
}

// Entries stand in the chain in the order of their commits; what was rolled back, whole or a step of an operation, leaves no gap.
func TestAuditChain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := store.WithAddress(w.ctx, "192.0.2.7")
		record := func(action string) func(*store.Tx) error {
			return func(tx *store.Tx) error {
				return tx.InsertAudit(ctx, store.Audit{ActorKind: "system", Action: action, Detail: `{"naam":"é"}`})
			}
		}
		w.write(record("a"))
		if err := w.db.Write(w.ctx, func(tx *store.Tx) error { return errors.Join(record("gone")(tx), errStop) }); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		opCtx, op := w.db.Operation(w.ctx, func(tx *store.Tx) error { return record("b")(tx) })
		noErr(t, w.db.Write(opCtx, record("c")))
		if err := w.db.Write(opCtx, func(tx *store.Tx) error { return errors.Join(record("gone")(tx), errStop) }); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		noErr(t, op.Commit(record("d")))
		if got := wantChain(t, w); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("the chain has %q", got)
		}
		rows, err := w.db.AuditsAfter(w.ctx, 3, 1)
		same(t, rows[0].Address, err, "192.0.2.7")
	})
}

// Many writers at once make one chain, and none of them fails.
func TestAuditChainOfManyWriters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 5 {
					if err := w.db.Write(w.ctx, func(tx *store.Tx) error {
						// A row that they all lock first, so that a lock in the wrong order would be a deadlock.
						return errors.Join(tx.SetSetting(w.ctx, "x", "y"), tx.InsertAudit(w.ctx, store.Audit{Action: "x"}))
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		if got := wantChain(t, w); len(got) != 40 {
			t.Errorf("the chain has %d entries", len(got))
		}
	})
}

// Entries that have no place in the chain, as those from before there was one, get theirs at the next start, and an entry says so.
func TestAuditAdoption(t *testing.T) {
	storetest.EachClock(t, func(t *testing.T, db *store.DB, clock *storetest.Clock) {
		w := newWorld(t, db, clock)
		_, pool := db.Pools()
		_, err := pool.ExecContext(w.ctx, `INSERT INTO audit (id, at, actor_kind, action) VALUES ('aud_1', 1, 'system', 'old'), ('aud_2', 2, 'system', 'older')`)
		noErr(t, err)
		w.write(func(tx *store.Tx) error { return tx.InsertAudit(w.ctx, store.Audit{Action: "new"}) })
		noErr(t, db.Migrate(w.ctx))
		noErr(t, db.Migrate(w.ctx)) // nothing more to do
		if got := wantChain(t, w); !slices.Equal(got, []string{"new", "old", "older", store.AuditAdopted}) {
			t.Errorf("the chain has %q", got)
		}
	})
}

// What retention leaves follows the last entry that it removed.
func TestAuditChainAfterPruning(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 5 {
			w.write(func(tx *store.Tx) error { return tx.InsertAudit(w.ctx, store.Audit{Action: "old"}) })
		}
		w.clock.Advance(time.Hour)
		before := w.now()
		w.write(func(tx *store.Tx) error { return tx.InsertAudit(w.ctx, store.Audit{Action: "new"}) })
		same(t, w.prune(func(tx *store.Tx, c string) (store.Pruned, error) { return tx.PruneAudit(w.ctx, before, c, 2) }, 2), nil, 5)
		if got := wantChain(t, w); !slices.Equal(got, []string{"new"}) {
			t.Errorf("the chain has %q", got)
		}
		head, err := w.db.AuditHead(w.ctx)
		same(t, head.FloorSeq, err, 5)
	})
}

// Of old checkpoints a day keeps the first, and those of entries that were pruned go.
func TestAuditCheckpoints(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := func(tx *store.Tx, kind string, seq int64) error {
			return tx.InsertAuditCheckpoint(w.ctx, store.AuditCheckpoint{Kind: kind, Seq: seq, Text: "t"})
		}
		for seq := range int64(4) {
			w.write(func(tx *store.Tx) error {
				return errors.Join(at(tx, store.CheckpointOfHead, seq+1), at(tx, store.CheckpointOfHead, seq+1), tx.InsertAudit(w.ctx, store.Audit{Action: "x"}))
			})
			w.clock.Advance(20 * time.Hour)
		}
		w.write(func(tx *store.Tx) error { return tx.ThinAuditCheckpoints(w.ctx, tx.Now) })
		all, err := w.db.AuditCheckpoints(w.ctx)
		noErr(t, err)
		days := map[string]bool{}
		for _, c := range all {
			days[c.At.UTC().Format(time.DateOnly)] = true
		}
		if len(days) != len(all) || all[0].Seq != 1 {
			t.Errorf("kept %+v", all)
		}
		w.write(func(tx *store.Tx) error {
			_, err := tx.LockAuditHead(w.ctx)
			return errors.Join(err, at(tx, store.CheckpointOfPruned, 1))
		})
		w.write(func(tx *store.Tx) error {
			return errors.Join(pruneAll(w.ctx, tx), tx.ThinAuditCheckpoints(w.ctx, tx.Now))
		})
		all, err = w.db.AuditCheckpoints(w.ctx)
		if err != nil || slices.ContainsFunc(all, func(c store.AuditCheckpoint) bool { return c.Kind == store.CheckpointOfPruned || c.Seq < 4 }) {
			t.Errorf("kept %+v, %v", all, err)
		}
	})
}

func pruneAll(ctx context.Context, tx *store.Tx) error {
	_, err := tx.PruneAudit(ctx, tx.Now, "", 100)
	return err
}
