package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"schakel/store"
)

// operationWorld makes an operation that claims a key, and returns a function that writes a partner in it.
func operationWorld(t *testing.T, w *world, key string) (context.Context, *store.Operation, func(name string) (store.Partner, error)) {
	t.Helper()
	k := store.IdempotencyKey{ClientID: "cli_a", Operation: "POST /x", Key: key, Fingerprint: []byte{1}, CreatedAt: w.now(), ExpiresAt: w.in(time.Hour)}
	ctx, o := w.db.Operation(w.ctx, func(tx *store.Tx) error {
		free, err := tx.ClaimKey(w.ctx, &k)
		if err == nil && !free {
			err = store.ErrConflict
		}
		return err
	})
	t.Cleanup(o.Rollback)
	return ctx, o, func(name string) (store.Partner, error) {
		p := store.Partner{Name: name, Status: store.PartnerApproved}
		err := w.db.Write(ctx, func(tx *store.Tx) error { return tx.InsertPartner(ctx, &p) })
		return p, err
	}
}

// What an operation writes is there for itself at once, and for others when it commits, together with its key.
//
// Rules: IDEM-17, IDEM-X05
func TestOperationCommits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, o, write := operationWorld(t, w, "k")
		p, err := write("Noord")
		noErr(t, err)
		woken := 0
		store.AfterCommit(ctx, func() { woken++ })
		_, err = w.db.Partner(ctx, p.ID)
		noErr(t, err)
		missing(t)(w.db.Partner(w.ctx, p.ID))
		same(t, woken, nil, 0)
		outcome := store.IdempotencyKey{ClientID: "cli_a", Operation: "POST /x", Key: "k", StatusCode: 201, ResponseBody: []byte("made"), Headers: `{"Location":["/x/1"]}`}
		noErr(t, o.Commit(func(tx *store.Tx) error { return tx.SetKeyOutcome(ctx, &outcome) }))
		same(t, woken, nil, 1)
		_, err = w.db.Partner(w.ctx, p.ID)
		noErr(t, err)
		key, err := w.db.Key(w.ctx, "cli_a", "POST /x", "k")
		same(t, key.Headers+string(key.ResponseBody), err, outcome.Headers+"made")
		o.Rollback()                 // too late
		later, err := write("Later") // writes for itself
		noErr(t, err)
		store.AfterCommit(ctx, func() { woken++ })
		same(t, woken, nil, 2)
		_, err = w.db.Partner(w.ctx, later.ID)
		noErr(t, err)
		if o.Commit(func(*store.Tx) error { return nil }) == nil {
			t.Error("an operation commits twice")
		}
	})
}

// Rules: IDEM-17
func TestOperationLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	for name, end := range map[string]func(o *store.Operation, cancel func()) error{
		"rollback":   func(o *store.Operation, _ func()) error { o.Rollback(); return broken },
		"last fails": func(o *store.Operation, _ func()) error { return o.Commit(func(*store.Tx) error { return broken }) },
		"broken off": func(o *store.Operation, cancel func()) error {
			cancel()
			return o.Commit(func(*store.Tx) error { return nil })
		},
		"key is gone": func(o *store.Operation, _ func()) error {
			return o.Commit(func(tx *store.Tx) error { return tx.SetKeyOutcome(t.Context(), &store.IdempotencyKey{}) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(w.ctx)
				defer cancel()
				inner := *w
				inner.ctx = ctx
				_, o, write := operationWorld(t, &inner, "k")
				p, err := write("Noord")
				noErr(t, err)
				if end(o, cancel) == nil {
					t.Error("no error")
				}
				missing(t)(w.db.Partner(w.ctx, p.ID))
				missing(t)(w.db.Key(w.ctx, "cli_a", "POST /x", "k"))
			})
		})
	}
}

// A step that fails leaves nothing of itself; those before it stay, and the next ones work.
func TestOperationSteps(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, o, write := operationWorld(t, w, "k")
		kept, err := write("Kept")
		noErr(t, err)
		err = w.db.Write(ctx, func(tx *store.Tx) error {
			lost := store.Partner{Name: "Lost", Status: store.PartnerApproved}
			noErr(t, tx.InsertPartner(ctx, &lost))
			return errors.Join(tx.InsertContract(ctx, &store.Contract{ID: "twice"}), tx.InsertContract(ctx, &store.Contract{ID: "twice"}))
		})
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("error %v", err)
		}
		last, err := write("Last")
		noErr(t, err)
		noErr(t, o.Commit(func(*store.Tx) error { return nil }))
		for _, id := range []string{kept.ID, last.ID} {
			_, err = w.db.Partner(w.ctx, id)
			noErr(t, err)
		}
		_, total, err := w.db.Partners(w.ctx, store.PartnerFilter{Search: "Lost"})
		same(t, total, err, 0)
	})
}

// The unique insert is the lock: who comes second with a key writes nothing.
//
// Rules: E2, E8, IDEM-07, IDEM-X05
func TestOperationClaimedByAnother(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, first, _ := operationWorld(t, w, "k")
		noErr(t, first.Commit(func(*store.Tx) error { return nil }))
		_, second, write := operationWorld(t, w, "k")
		for range 2 {
			if _, err := write("Noord"); !errors.Is(err, store.ErrConflict) {
				t.Errorf("error %v", err)
			}
		}
		if err := second.Commit(func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrConflict) {
			t.Errorf("error %v", err)
		}
		_, total, err := w.db.Partners(w.ctx, store.PartnerFilter{Search: "Noord"})
		same(t, total, err, 0)
		w.clock.Advance(time.Hour - time.Microsecond)
		_, early, _ := operationWorld(t, w, "k")
		if err := early.Commit(func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a moment before its end: %v", err)
		}
		w.clock.Advance(time.Microsecond)
		_, third, write := operationWorld(t, w, "k")
		_, err = write("Noord")
		noErr(t, err)
		noErr(t, third.Commit(func(*store.Tx) error { return nil }))
	})
}
