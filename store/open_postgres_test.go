package store_test

import (
	"testing"

	"schakel/store"
	"schakel/store/storetest"
)

// A node that freezes within a transaction does not keep others from its rows for ever; who set that himself keeps his own.
func TestIdleTransactionsEnd(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	for database, want := range map[string]string{url: "1min", url + "&idle_in_transaction_session_timeout=5000": "5s"} {
		db, err := store.Open(t.Context(), database, store.Options{})
		same(t, 0, err, 0)
		read, _ := db.Pools()
		var got string
		err = read.Get(&got, `SHOW idle_in_transaction_session_timeout`)
		same(t, got, err, want)
		same(t, 0, db.Close(), 0)
	}
}
