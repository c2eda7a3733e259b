package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"schakel/store"
)

// putObject keeps an object of n bytes of the client.
func (w *world) putObject(n int) (store.Object, []byte) {
	w.t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	sum := sha256.Sum256(data)
	o := store.Object{
		ID: w.db.NewID("obj"), PartnerID: w.partner.ID, ClientID: w.client.ID, ContentType: "application/pdf", Size: int64(n), Digest: sum[:],
	}
	noErr(w.t, w.db.PutObject(w.ctx, o, data))
	return o, data
}

func (w *world) link(id, owner string) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error { return tx.LinkObject(w.ctx, id, owner) })
}

// objectState is "bytes", "gone" or "none".
func (w *world) objectState(id string) string {
	w.t.Helper()
	o, err := w.db.Object(w.ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return "none"
	}
	noErr(w.t, err)
	_, err = io.Copy(io.Discard, w.db.OpenObject(w.ctx, o))
	if !o.GoneAt.IsZero() && o.Size > 0 && errors.Is(err, store.ErrNotFound) {
		return "gone"
	}
	noErr(w.t, err)
	return "bytes"
}

func (w *world) pruneObjects(limit int) int64 {
	w.t.Helper()
	return w.prune(func(tx *store.Tx, cursor string) (store.Pruned, error) {
		return tx.PruneObjects(w.ctx, tx.Now, cursor, limit)
	}, limit)
}

// The bytes of an object come back as they were put, whole or in parts, whatever its size.
// Rules: EDU-01a.
func TestObjectBytes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, n := range []int{0, 1, store.ObjectChunk - 1, store.ObjectChunk, store.ObjectChunk + 1, 3*store.ObjectChunk + 17} {
			put, data := w.putObject(n)
			o, err := w.db.Object(w.ctx, put.ID)
			if err != nil || o.Size != int64(n) || !bytes.Equal(o.Digest, put.Digest) || o.ContentType != put.ContentType || o.OwnerID != "" {
				t.Fatalf("%d bytes: %+v, %v", n, o, err)
			}
			if err := iotest.TestReader(w.db.OpenObject(w.ctx, o), data); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		if err := w.db.PutObject(w.ctx, store.Object{ID: "obj_x", Digest: []byte{}}, []byte{}); err != nil {
			t.Error(err)
		}
		if err := w.db.PutObject(w.ctx, store.Object{ID: "obj_x", Digest: []byte{}}, []byte{}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("the same id twice: %v", err)
		}
	})
}

// An object that nobody refers to goes after an hour; one whose event is there stays.
func TestPruneOrphanedObjects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		orphan, _ := w.putObject(40 * store.ObjectChunk)
		kept, _ := w.putObject(10)
		w.link(kept.ID, w.newEvents(1)[0].ID)
		if w.pruneObjects(500) != 0 || w.objectState(orphan.ID) != "bytes" {
			t.Error("an object on its way in was removed")
		}
		w.clock.Advance(time.Hour)
		if got := w.pruneObjects(7); got != 41 || w.objectState(orphan.ID) != "none" || w.objectState(kept.ID) != "bytes" {
			t.Errorf("removed %d rows; orphan %s, kept %s", got, w.objectState(orphan.ID), w.objectState(kept.ID))
		}
		dropped, _ := w.putObject(10)
		w.write(func(tx *store.Tx) error {
			return errors.Join(tx.DropObject(w.ctx, dropped.ID), tx.DropObject(w.ctx, kept.ID))
		})
		if w.objectState(dropped.ID) != "none" || w.objectState(kept.ID) != "bytes" {
			t.Error("drop removes what belongs to nobody, and that alone")
		}
		if found, err := w.db.ObjectsOf(w.ctx, "evt_none"); err != nil || len(found) != 0 {
			t.Errorf("%v, %v", found, err)
		}
		w.fails(store.ErrNotFound, func(tx *store.Tx) error { return tx.LinkObject(w.ctx, dropped.ID, "evt_1") })
	})
}

// When the event of an object is removed its bytes go, and those who had got it can be told so for ninety days.
func TestPruneObjectsOfOldEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		o, _ := w.putObject(store.ObjectChunk + 5)
		e := w.newEvents(1)[0]
		w.link(o.ID, e.ID)
		d := delivery(w.db.NewID("dlv"), e.ID, w.subscription, w.now())
		d.Status, d.DeliveredAt = store.DeliveryDelivered, w.now()
		w.write(func(tx *store.Tx) error { return tx.InsertDeliveries(w.ctx, []store.Delivery{d}) })
		w.set(d.ID, "status = 'delivered', delivered_at = ?", w.now())
		w.clock.Advance(time.Minute)
		had := func() bool {
			had, err := w.db.HadObject(w.ctx, o.ID, w.partner.ID)
			noErr(t, err)
			return had
		}
		if w.pruneObjects(500) != 0 || had() {
			t.Error("pruned while the event is there")
		}
		w.pruneEvents(w.now(), 500)
		if w.pruneObjects(500); w.objectState(o.ID) != "gone" || !had() {
			t.Errorf("object is %s, had %v", w.objectState(o.ID), had())
		}
		if other, err := w.db.HadObject(w.ctx, o.ID, w.own.ID); other || err != nil {
			t.Errorf("%v, %v", other, err)
		}
		w.clock.Advance(store.ObjectTombstone)
		if w.pruneObjects(500); w.objectState(o.ID) != "none" || had() {
			t.Errorf("object is %s, had %v", w.objectState(o.ID), had())
		}
	})
}

// Who may read an event: whom it was delivered to, or is still meant for (G2, G7).
func TestMayReadEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.newSubscription(w.newEndpoint(w.own.ID), store.SubscriptionApproved, eventType)
		id := w.newDeliveries(w.subscription, 1)[0]
		d, err := w.db.Delivery(w.ctx, id)
		noErr(t, err)
		may := func(partnerID string) bool {
			t.Helper()
			may, err := w.db.MayReadEvent(context.WithoutCancel(w.ctx), d.EventID, partnerID)
			noErr(t, err)
			return may
		}
		if !may(w.partner.ID) || may(other.PartnerID) {
			t.Error("an approved subscriber reads it, another partner does not")
		}
		w.subscription.Status = store.SubscriptionSuspended
		w.write(func(tx *store.Tx) error { return tx.UpdateSubscription(w.ctx, &w.subscription) })
		if may(w.partner.ID) {
			t.Error("what a revocation held back can be read")
		}
		w.set(id, "status = 'delivered', delivered_at = ?", w.now())
		if !may(w.partner.ID) {
			t.Error("what was delivered cannot be read")
		}
	})
}
