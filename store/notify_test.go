package store_test

import (
	"context"
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

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
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.Notify(t.Context(), "work") }); err != nil {
		t.Fatal(err)
	}
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
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.Notify(t.Context(), "work") }); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := db.Listen(ctx, func() { t.Error("SQLite has nothing to listen to") }, nil); err != nil {
		t.Error(err)
	}
}
