package backup_test

import (
	"bytes"
	"reflect"
	"testing"

	"schakel/store"
	"schakel/store/backup"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// same fails the test on an error, or when got is not want.
func same(t testing.TB, got any, err error, want any) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
}

// backupOf makes a backup in memory.
func backupOf(t testing.TB, db *store.DB) []byte {
	t.Helper()
	var file bytes.Buffer
	if _, err := backup.Write(t.Context(), db, &file, backup.Info{}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func restore(t testing.TB, file []byte, database string) error {
	t.Helper()
	b, err := backup.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	if err := b.Check(t.Context()); err != nil {
		return err
	}
	return b.Restore(t.Context(), database, store.Options{})
}
