package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"schakel/store"
	"schakel/store/backup"
	"schakel/store/storetest"
)

func opens(t testing.TB, file []byte) error {
	t.Helper()
	b, err := backup.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	return b.Check(t.Context())
}

// Whatever byte is changed, and wherever the file is cut off, it is noticed before anything is written.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	same(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.SetSetting(t.Context(), "naam", "waarde") }), nil, nil)
	file := backupOf(t, db)
	same(t, opens(t, file), nil, nil)
	for i := range file {
		flip := [...]byte{0x20, 0x01, 0xff}[i%3]
		if i > len(file)-72 {
			flip = 0x20 // in the seal: another case of the same letter
		}
		file[i] ^= flip
		if err := opens(t, file); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("byte %d of %d changed by %x: %v", i, len(file), flip, err)
		}
		file[i] ^= flip
		if err := opens(t, file[:i]); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("cut off after %d of %d bytes: %v", i, len(file), err)
		}
	}
	if err := opens(t, append(file, 0)); !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// A file with a good seal is still refused when what is in it is not what it says.
func TestFalseBackup(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	file := backupOf(t, db)
	for name, c := range map[string]struct {
		change func(m *backup.Manifest, entries map[string][]byte)
		want   error
	}{
		"unchanged":    {func(*backup.Manifest, map[string][]byte) {}, nil},
		"newer format": {func(m *backup.Manifest, _ map[string][]byte) { m.Format++ }, backup.ErrOtherVersion},
		"newer schema": {func(m *backup.Manifest, _ map[string][]byte) { m.SchemaVersion = 9999 }, backup.ErrOtherVersion},
		"no schema":    {func(m *backup.Manifest, _ map[string][]byte) { m.SchemaVersion = 0 }, backup.ErrOtherVersion},
		"other schema": {func(m *backup.Manifest, _ map[string][]byte) { m.SchemaVersion = 1 }, backup.ErrDamaged},
		"strange column": {func(m *backup.Manifest, _ map[string][]byte) {
			m.Tables[0].Columns[0].Name = "x; DROP TABLE event"
		}, backup.ErrDamaged},
		"table less": {func(m *backup.Manifest, _ map[string][]byte) { m.Tables = m.Tables[1:] }, backup.ErrDamaged},
		"entry less": {func(_ *backup.Manifest, e map[string][]byte) { delete(e, "tables/setting") }, backup.ErrDamaged},
		"rows less":  {func(_ *backup.Manifest, e map[string][]byte) { e["tables/setting"] = nil }, backup.ErrDamaged},
		"rows changed": {func(_ *backup.Manifest, e map[string][]byte) {
			e["tables/setting"] = bytes.Replace(e["tables/setting"], []byte("fanout"), []byte("tuonaf"), 1)
		}, backup.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, entries, err := backup.Entries(file)
			same(t, err, nil, nil)
			c.change(&m, entries)
			manifest, err := json.Marshal(m)
			same(t, err, nil, nil)
			changed, err := backup.SealedBackup(manifest, entries)
			same(t, err, nil, nil)
			target := "sqlite:" + storetest.SQLitePath(t)
			if err := restore(t, changed, target); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestBackupValues(t *testing.T) {
	t.Parallel()
	kinds := []string{"text", "integer", "boolean", "bytes", "real"}
	for _, values := range [][]any{
		{nil, nil, nil, nil, nil},
		{"", int64(0), false, []byte{}, 0.0},
		{"é\x00\n", int64(math.MinInt64), true, []byte{0, 0xff}, math.Inf(-1)},
		{string(make([]byte, 1<<17)), int64(math.MaxInt64), true, make([]byte, 1<<17), math.SmallestNonzeroFloat64},
	} {
		row, err := backup.WriteRow(kinds, values...)
		same(t, err, nil, nil)
		got, again, err := backup.ReadRow(row, kinds...)
		if err != nil || !reflect.DeepEqual(got, values) || !bytes.Equal(again, row) {
			t.Errorf("%.40v became %.40v, %v", values, got, err)
		}
		if _, _, err := backup.ReadRow(row[:len(row)-1], kinds...); err == nil {
			t.Errorf("%.40v: a row cut off was read", values)
		}
	}
	if _, err := backup.WriteRow([]string{"integer"}, "1"); err == nil {
		t.Error("a text was taken for an integer")
	}
}

func FuzzBackupRow(f *testing.F) {
	kinds := []string{"text", "integer", "boolean", "bytes", "real"}
	row, err := backup.WriteRow(kinds, "a", int64(-5), true, []byte{1}, 1.5)
	same(f, err, nil, nil)
	f.Add(row)
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, in []byte) {
		values, again, err := backup.ReadRow(in, kinds...)
		if err != nil {
			return
		}
		twice, _, err := backup.ReadRow(again, kinds...)
		if err != nil || !reflect.DeepEqual(values, twice) && values[4] == values[4] {
			t.Errorf("%v became %v, %v", values, twice, err)
		}
	})
}

// FuzzBackupFile changes files and gives them a good seal, so that what is behind the seal is tried too.
func FuzzBackupFile(f *testing.F) {
	f.Add(backupOf(f, storetest.SQLite(f)))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 100 {
			return
		}
		_ = opens(t, backup.Reseal(in))
	})
}

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
