package backup_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"schakel/store"
	"schakel/store/backup"
	"schakel/store/storetest"
)

// A restore reads every row back: a file that keeps another value than it was given, or leaves a row out, is no restore.
func TestRestoreReadsEveryRowBack(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		return tx.SwapSetting(t.Context(), "a.setting", "", "kept")
	}); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := backup.Write(t.Context(), db, &file, backup.Info{}); err != nil {
		t.Fatal(err)
	}
	b, err := backup.Open(t.Context(), bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for statement, sound := range map[string]bool{
		`SELECT 1`: true,
		`CREATE TRIGGER changed AFTER INSERT ON setting BEGIN UPDATE setting SET value = 'other' WHERE name = 'a.setting'; END`: false,
		`CREATE TRIGGER lost AFTER INSERT ON setting BEGIN DELETE FROM setting WHERE name = 'a.setting'; END`:                   false,
	} {
		if err := b.FillWith(t.Context(), filepath.Join(t.TempDir(), "s.db"), statement); (err == nil) != sound {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
