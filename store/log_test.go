package store_test

import (
	"context"
	"errors"
	"testing"

	"schakel/store/storetest"
)

// TestOwnedLog calls who owns SQLite's log before it is copied into the database, and nobody once it was given back.
func TestOwnedLog(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	before := db.LogPages()
	if err := db.LimitLog(t.Context(), 0); err != nil || db.LogPages() >= before || db.LogPages() <= 0 {
		t.Errorf("%d pages, %d before, %v", db.LogPages(), before, err)
	}
	refused := errors.New("not now")
	db.OwnLog(func(context.Context) error { return refused })
	if err := db.Checkpoint(t.Context()); !errors.Is(err, refused) {
		t.Errorf("owned: %v", err)
	}
	db.OwnLog(nil)
	if err := db.Checkpoint(t.Context()); err != nil {
		t.Errorf("given back: %v", err)
	}
}
