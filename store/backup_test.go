package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/backup"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// backupOf makes a backup in memory.
func backupOf(t testing.TB, db *store.DB) []byte {
	t.Helper()
	var file bytes.Buffer
	m, err := backup.Write(t.Context(), db, &file, backup.Info{Program: "test", SecretKeyID: "abcd"})
	noErr(t, err)
	if m.Rows() == 0 || m.Program != "test" || m.SecretKeyID != "abcd" || m.Database != db.Dialect() {
		t.Errorf("manifest %+v", m)
	}
	return file.Bytes()
}

func manifestOf(t testing.TB, file []byte) (backup.Manifest, error) {
	t.Helper()
	b, err := backup.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return backup.Manifest{}, err
	}
	return b.Manifest, nil
}

// empty names a database that does not exist yet, or has no tables.
func empty(t testing.TB, d store.Dialect) string {
	if d == store.Postgres {
		return storetest.PostgresURL(t)
	}
	return "sqlite:" + storetest.SQLitePath(t)
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

func open(t testing.TB, database string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), database, store.Options{})
	noErr(t, err)
	t.Cleanup(func() { same(t, db.Close(), nil, nil) })
	return db
}

// eachTarget runs fn on both databases with the names of an empty database of either kind.
func eachTarget(t *testing.T, fn func(t *testing.T, w *world, target string)) {
	each(t, func(t *testing.T, w *world) {
		for _, d := range []store.Dialect{store.SQLite, store.Postgres} {
			t.Run("into "+string(d), func(t *testing.T) {
				in := *w
				in.t, in.ctx = t, t.Context()
				fn(t, &in, empty(t, d))
			})
		}
	})
}

// butAudit leaves out the tables of the audit trail, to which a restore adds an entry of its own.
func butAudit(tables []backup.Table) []backup.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t backup.Table) bool {
		return t.Name == "audit" || t.Name == "audit_head" || t.Name == "audit_checkpoint"
	})
}

// A backup holds every table as it was, and is restored into either database.
func TestBackupRestore(t *testing.T) {
	needs.Unraced(t)
	eachTarget(t, func(t *testing.T, w *world, target string) {
		ids := w.newDeliveries(w.subscription, 20)
		w.write(func(tx *store.Tx) error {
			return errors.Join(
				tx.InsertAudit(w.ctx, store.Audit{ActorKind: "system", Action: "naam 'x' é\n"}),
				tx.InsertAttempts(w.ctx, []store.Attempt{
					{DeliveryID: ids[0], Number: 1, StartedAt: w.now(), ResponseBody: []byte{0, 0xff}},
					{DeliveryID: ids[1], Number: math.MinInt64, StartedAt: w.now(), ResponseBody: []byte{}},
					{DeliveryID: ids[2], StartedAt: w.now()},
				}))
		})
		dataset := w.newDataset("panden " + target).ID
		w.publish("mpb_1", dataset, []change{{"", "a" + target}, {"", "b" + target}}, []change{{"a" + target, ""}})
		made := w.finish(w.writeFile(bytes.Repeat([]byte("zip"), store.ObjectChunk)))
		file := backupOf(t, w.db)
		same(t, restore(t, file, target), nil, nil)
		restored := open(t, target)
		bytesOf, err := io.ReadAll(restored.OpenMutationFile(w.ctx, made))
		same(t, len(bytesOf), err, 3*store.ObjectChunk)
		again := backupOf(t, restored)
		before, err := manifestOf(t, file)
		same(t, err, nil, nil)
		after, err := manifestOf(t, again)
		same(t, butAudit(after.Tables), err, butAudit(before.Tables))
		entries, _, err := restored.Audits(w.ctx, store.AuditFilter{Page: store.Page{Number: 1, Size: 10}})
		same(t, err, nil, nil)
		_, kept, err := w.db.Audits(w.ctx, store.AuditFilter{Page: store.Page{Number: 1, Size: 10}})
		same(t, len(entries), err, kept+1)
		same(t, entries[0].Action, nil, "backup.restored")
		got, err := restored.Attempts(w.ctx, ids[1])
		same(t, len(got), err, 1)
		same(t, got[0].ResponseBody, nil, []byte{})
	})
}

// writers write events with a delivery each until stopped, and keep a ledger of what was acknowledged.
type writers struct {
	mu     sync.Mutex
	acked  []string
	failed error
	enough chan struct{} // closed when some are acknowledged
	group  sync.WaitGroup
}

func (l *writers) start(ctx context.Context, w *world) {
	l.enough = make(chan struct{})
	for range 2 {
		l.group.Go(func() {
			for ctx.Err() == nil {
				if err := l.one(ctx, w); err != nil && ctx.Err() == nil {
					l.mu.Lock()
					l.failed = err
					l.mu.Unlock()
					return
				}
			}
		})
	}
}

func (l *writers) one(ctx context.Context, w *world) error {
	var id string
	err := w.db.Write(ctx, func(tx *store.Tx) error {
		id = tx.NewID("evt")
		if _, err := tx.InsertEvents(ctx, []store.Event{w.event(id)}); err != nil {
			return err
		}
		return tx.InsertDeliveries(ctx, []store.Delivery{delivery(tx.NewID("dlv"), id, w.subscription, tx.Now)})
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked = append(l.acked, id); len(l.acked) == 50 {
		close(l.enough)
	}
	return nil
}

// ledger copies what is acknowledged up to now.
func (l *writers) ledger() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.acked...)
}

// Everything acknowledged before the backup began is in it, and no event is in it without its delivery.
func TestBackupUnderLoad(t *testing.T) {
	eachTarget(t, func(t *testing.T, w *world, target string) {
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		var load writers
		load.start(ctx, w)
		<-load.enough
		before := load.ledger()
		file := backupOf(t, w.db)
		stop()
		load.group.Wait()
		same(t, load.failed, nil, nil)

		same(t, restore(t, file, target), nil, nil)
		db := open(t, target)
		for _, id := range before {
			d, err := db.DeliveriesOf(w.ctx, id)
			if err != nil || len(d) != 1 {
				t.Fatalf("event %s was acknowledged before the backup: %d deliveries, %v", id, len(d), err)
			}
		}
		read, _ := db.Pools()
		var torn int
		same(t, read.Get(&torn, `SELECT COUNT(*) FROM event e WHERE NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id)`), nil, nil)
		same(t, torn, nil, 0)
	})
}

// What a dead process held is due again, and logins do not come back.
func TestRestoreFreesLeases(t *testing.T) {
	needs.Unraced(t)
	eachTarget(t, func(t *testing.T, w *world, target string) {
		w.newDeliveries(w.subscription, 3)
		same(t, w.db.SessionSave(w.ctx, []byte("token"+target), []byte("x"), w.clock.Now().Add(time.Hour)), nil, nil)
		w.write(func(tx *store.Tx) error {
			_, err := tx.Claim(w.ctx, w.endpoint.ID, "dead", 3, w.in(time.Hour))
			return err
		})
		same(t, restore(t, backupOf(t, w.db), target), nil, nil)
		db := open(t, target)
		read, _ := db.Pools()
		var held, sessions int
		same(t, read.Get(&held, `SELECT COUNT(*) FROM delivery WHERE lease_owner <> ''`), nil, nil)
		same(t, read.Get(&sessions, `SELECT COUNT(*) FROM session`), nil, nil)
		same(t, held+sessions, nil, 0)
	})
}

func TestRestoreRefusesWhatIsInUse(t *testing.T) {
	needs.Unraced(t)
	eachTarget(t, func(t *testing.T, w *world, target string) {
		file := backupOf(t, w.db)
		same(t, restore(t, file, target), nil, nil)
		if err := restore(t, file, target); !errors.Is(err, backup.ErrNotEmpty) {
			t.Errorf("restored over a database in use: %v", err)
		}
	})
}

// A PostgreSQL database whose tables are empty, as an interrupted restore leaves it, is new enough.
func TestRestoreIntoEmptyTables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		target := storetest.PostgresURL(t)
		same(t, open(t, target).Migrate(w.ctx), nil, nil)
		same(t, restore(t, backupOf(t, w.db), target), nil, nil)
	})
}

func TestRestoreMigratesAnOlderSchema(t *testing.T) {
	t.Parallel()
	for _, from := range []store.Dialect{store.SQLite, store.Postgres} {
		t.Run(string(from), func(t *testing.T) {
			t.Parallel()
			old := open(t, empty(t, from))
			same(t, old.MigrateTo(t.Context(), 1), nil, nil)
			same(t, old.Write(t.Context(), func(tx *store.Tx) error { return tx.SetSetting(t.Context(), "naam", "oud") }), nil, nil)
			file := backupOf(t, old)
			for _, into := range []store.Dialect{store.SQLite, store.Postgres} {
				target := empty(t, into)
				same(t, restore(t, file, target), nil, nil)
				db := open(t, target)
				current, wanted, err := db.MigrationState(t.Context())
				same(t, current, err, wanted)
				gives(t, "oud")(db.Setting(t.Context(), "naam"))
			}
		})
	}
}

func TestBackupRefusesWhatItDoesNotKnow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.write(func(tx *store.Tx) error {
			_, err := tx.Raw().Exec(`UPDATE goose_db_version SET version_id = 9999 WHERE version_id = 2`)
			return err
		})
		var file bytes.Buffer
		if _, err := backup.Write(w.ctx, w.db, &file, backup.Info{}); !errors.Is(err, backup.ErrOtherVersion) {
			t.Errorf("backed up a newer schema: %v", err)
		}
		if _, err := backup.Write(w.ctx, open(t, empty(t, w.db.Dialect())), &file, backup.Info{}); err == nil {
			t.Error("backed up a database without tables")
		}
	})
}

// A reader that fails, as a full disk does, is an error and no backup.
func TestBackupToAFullDisk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := backup.Write(w.ctx, w.db, fullDisk{}, backup.Info{})
		if !errors.Is(err, errStop) || !strings.HasPrefix(fmt.Sprint(err), "back up: ") {
			t.Errorf("error %v", err)
		}
	})
}

type fullDisk struct{}

// Write implements io.Writer.
func (fullDisk) Write([]byte) (int, error) { return 0, errStop }
