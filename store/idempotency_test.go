package store_test

import (
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// A transaction that waits for the standby commits where there is none.
func TestAwaitStandby(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.AwaitStandby(t.Context()) }); err != nil {
			t.Error(err)
		}
	})
}
