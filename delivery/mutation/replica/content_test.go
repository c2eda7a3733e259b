package replica_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/replica"
)

// Zips on disk that share a delivery id are all applied, each once; those whose bytes are in the copy are skipped, and that is
// reported.
//
// Rules: MUT-01, MUT-21, MUT-36.
func TestRepeatedDeliveryIDs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		w, dir := newWorld(t, 5), t.TempDir()
		w.size = 400
		put := func(name string, z zipped) {
			t.Helper()
			must(t, os.WriteFile(filepath.Join(dir, name), z.raw, 0o600))
		}
		follows := func(applied, skipped int) {
			t.Helper()
			source, err := replica.NewFolder(dir)
			must(t, err)
			r, err := open(t, database, replica.Options{}).Follow(t.Context(), source, replica.RebuildNever)
			if err != nil || r.Skipped() != skipped || len(r.Deliveries) != applied+skipped || len(r.Notes) < skipped {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			w.check(t, database)
		}
		w.groups(60)
		put("1.zip", pack(t, format.Initial, "BAG", "", w.whole()))
		put("2.zip", pack(t, format.Delta, "BAG", "", w.groups(8)))
		put("3.zip", pack(t, format.Delta, "BAG", "", w.groups(8)))
		follows(3, 0)
		put("4.zip", pack(t, format.Delta, "BAG", "", w.groups(8)))
		put("5.zip", pack(t, format.Delta, "BAG", "", nil))
		follows(2, 3)
		follows(0, 5)
		z := pack(t, format.Delta, "BAG", "", w.groups(3))
		for skipped := range 2 {
			r, err := open(t, database, replica.Options{Name: "dingen"}).Follow(t.Context(), replica.NewStream(bytes.NewReader(z.raw)), replica.RebuildNever)
			if err != nil || r.Skipped() != skipped {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			w.check(t, database)
		}
	})
}

// A stream that begins as a file that was applied and then differs is refused: it cannot be read twice.
//
// Rules: MUT-36.
func TestStreamThatOnlyBeginsAlike(t *testing.T) {
	t.Parallel()
	database, w := sqlitePath(t), newWorld(t, 5)
	w.groups(6000)
	z := pack(t, format.Initial, "BAG", "", w.whole())
	apply := func(raw []byte) (replica.Report, error) {
		return open(t, database, replica.Options{Name: "dingen"}).Follow(t.Context(), replica.NewStream(bytes.NewReader(raw)), replica.RebuildNever)
	}
	if _, err := apply(z.raw); err != nil {
		t.Fatal(err)
	}
	longer := append(append([]byte{}, z.raw...), 0)
	if len(longer) < 80<<10 {
		t.Fatalf("only %d bytes", len(longer))
	}
	if _, err := apply(longer); !errors.Is(err, replica.ErrRefused) || !strings.Contains(err.Error(), "give it as a file") {
		t.Errorf("%v", err)
	}
	if r, err := apply(z.raw); err != nil || r.Skipped() != 1 {
		t.Errorf("%v: %s", err, asJSON(r))
	}
}

// The XML of each row is a document of its own, which a parser with namespaces reads, also of a copy that was made before it was.
//
// Rules: MUT-14, MUT-25.
func TestRowsAreDocuments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database string) {
		w := newWorld(t, 5)
		w.groups(20)
		apply(t, open(t, database, replica.Options{}), pack(t, format.Initial, "d-0", "", w.whole()).delivery())
		db := connect(t, database)
		check := func() {
			t.Helper()
			found, err := db.QueryContext(t.Context(), `SELECT xml FROM dingen`)
			must(t, err)
			defer found.Close()
			for found.Next() {
				var text string
				must(t, found.Scan(&text))
				in := xml.NewDecoder(strings.NewReader(text))
				for {
					token, err := in.Token()
					if errors.Is(err, io.EOF) {
						break
					}
					if start, ok := token.(xml.StartElement); err != nil || ok && start.Name.Space != "urn:d" {
						t.Fatalf("%v, %v in %s", err, token, text)
					}
				}
			}
			must(t, found.Err())
			w.check(t, database)
		}
		check()
		// As it was made by a program of before.
		for _, query := range []string{
			`DROP VIEW dingen`, `ALTER TABLE follow_namespaces DROP COLUMN markup`, `ALTER TABLE follow_delivery DROP COLUMN head`, `ALTER TABLE follow_delivery DROP COLUMN delivery_id`,
			`CREATE VIEW dingen AS SELECT s.object_type, s.object_id, s.body AS xml, COALESCE(d.declarations, '{}') AS namespaces FROM dingen_state_1 s LEFT JOIN follow_namespaces d ON d.id = s.ns AND d.copy = 'dingen'`,
		} {
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		open(t, database, replica.Options{Name: "dingen"})
		check()
		var spaces map[string]string
		if raw := rows(t, db, `SELECT DISTINCT namespaces FROM dingen`); json.Unmarshal([]byte(raw), &spaces) != nil || spaces["d"] != "urn:d" {
			t.Errorf("namespaces %s", raw)
		}
	})
}

// A copy that is rebuilt from a folder starts with the newest initial delivery in it, and goes on with the deltas behind that,
// also when older ones stand in between.
//
// Rules: MUT-34, MUT-35, MUT-38.
func TestMadeAnewFromFolder(t *testing.T) {
	t.Parallel()
	for name, manifests := range map[string]bool{"with manifests": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, w, dir := sqlitePath(t), newWorld(t, 5), t.TempDir()
			put := func(name string, z zipped) {
				t.Helper()
				must(t, os.WriteFile(filepath.Join(dir, name+".zip"), z.raw, 0o600))
				if manifests {
					must(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(asJSON(z.Manifest)), 0o600))
				}
			}
			w.groups(20)
			put("1", pack(t, format.Initial, "i-0", "d-0", w.whole()))
			put("2", pack(t, format.Delta, "d-1", "d-0", w.groups(5)))
			behind := pack(t, format.Delta, "d-2", "d-1", w.groups(5))
			snapshot := pack(t, format.Initial, "i-2", "d-2", w.whole())
			skipped := 2
			if manifests { // by its name it is behind the snapshot that includes it
				put("3", snapshot)
				put("4", behind)
				skipped++
			} else {
				put("3", behind)
				put("4", snapshot)
				skipped++
			}
			put("5", pack(t, format.Delta, "d-3", "d-2", w.groups(5)))
			source, err := replica.NewFolder(dir)
			must(t, err)
			f := open(t, database, replica.Options{})
			first := pack(t, format.Initial, "i-9", "d-9", nil)
			first.Lineage = "another"
			apply(t, f, first.delivery())
			r, err := f.Follow(t.Context(), source, replica.RebuildNow)
			if err != nil || r.DeltaID != "d-3" || r.Skipped() != skipped {
				t.Fatalf("%v: %s", err, asJSON(r))
			}
			w.check(t, database)
		})
	}
}
