package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"schakel/store"
)

// What waits for the commit and fails there fails the transaction, of which nothing is kept; the connection is as good as new.
func TestWhatWaitsFailsTheCommit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.newDeliveries(w.subscription, 1)[0]
		fresh := w.newEvents(1)[0]
		for range 2 {
			err := w.db.Write(w.ctx, func(tx *store.Tx) error {
				if err := tx.InsertDeliveries(w.ctx, []store.Delivery{delivery("dlv_other", fresh.ID, w.subscription, tx.Now)}); err != nil {
					return err
				}
				return tx.InsertDeliveries(w.ctx, []store.Delivery{delivery(id, fresh.ID, w.subscription, tx.Now)})
			})
			if !errors.Is(err, store.ErrConflict) {
				t.Fatalf("a delivery was written twice: %v", err)
			}
			_, err = w.db.Delivery(w.ctx, "dlv_other")
			if !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("half of a transaction was kept: %v", err)
			}
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertDeliveries(w.ctx, []store.Delivery{delivery("dlv_other", fresh.ID, w.subscription, tx.Now)})
		})
	})
}

// A transaction reads what it wrote, also what had waited until then.
func TestWhatWaitsIsReadInItsTransaction(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.newEvents(1)[0]
		w.fails(errStop, func(tx *store.Tx) error {
			if err := tx.InsertDeliveries(w.ctx, []store.Delivery{delivery("dlv_1", e.ID, w.subscription, tx.Now)}); err != nil {
				return err
			}
			d, err := tx.Delivery(w.ctx, "dlv_1")
			same(t, d.EventID, err, e.ID)
			return errStop
		})
		_, err := w.db.Delivery(w.ctx, "dlv_1")
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what was rolled back is there: %v", err)
		}
		w.write(func(*store.Tx) error { return nil })
	})
}

// More rows than a statement takes, empty and missing values and large ones come out as they went in.
func TestManyRowsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		events := make([]store.Event, 2100)
		for i := range events {
			events[i] = w.event(fmt.Sprintf("evt_%05d", i))
			events[i].CEID, events[i].Test = fmt.Sprint(i), i%2 == 1
			switch i % 3 {
			case 0:
				events[i].Data = nil
			case 1:
				events[i].Data = []byte(strings.Repeat("é\"{},\\", i))
			}
		}
		w.write(func(tx *store.Tx) error {
			fresh, err := tx.InsertEvents(w.ctx, events)
			same(t, len(fresh), err, len(events))
			return err
		})
		for _, i := range []int{0, 1, 2, 999, 1000, 1001, 2098, 2099} {
			got, err := w.db.Event(w.ctx, events[i].ID)
			same(t, string(got.Data), err, string(events[i].Data))
			same(t, got.Test, err, events[i].Test)
			same(t, got.Data == nil, err, events[i].Data == nil)
			same(t, got.AcceptedAt, err, events[i].AcceptedAt)
		}
	})
}

// A transaction that is cut off in the middle leaves nothing, and the next one works.
func TestCutOffTransaction(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.newEvents(1)[0]
		ctx, cancel := context.WithCancel(w.ctx)
		err := w.db.Write(ctx, func(tx *store.Tx) error {
			if err := tx.InsertDeliveries(w.ctx, []store.Delivery{delivery("dlv_1", e.ID, w.subscription, tx.Now)}); err != nil {
				return err
			}
			cancel()
			return nil
		})
		if err == nil {
			t.Error("a transaction whose context ended was committed")
		}
		_, err = w.db.Delivery(w.ctx, "dlv_1")
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it left something: %v", err)
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertDeliveries(w.ctx, []store.Delivery{delivery("dlv_1", e.ID, w.subscription, tx.Now)})
		})
	})
}
