package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"schakel/store"
	"schakel/store/backup"
	"schakel/store/replicate"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// open opens a new database with all tables.
func open(t *testing.T) (*store.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "schakel.db")
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	must(t, err)
	must(t, db.Migrate(t.Context()))
	return db, path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start copies a database until the returned function is called, which closes the database too.
func start(t *testing.T, db *store.DB, path string, cfg replicate.Config) (*replicate.Replicator, func()) {
	t.Helper()
	cfg.Now = time.Now
	r, err := replicate.New(db, path, cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, db.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return r, stop
}

// until waits until a copy has all that was committed before now.
func until(t *testing.T, r *replicate.Replicator) time.Time {
	t.Helper()
	now := time.Now()
	for tick := time.NewTicker(time.Millisecond); !r.State().Since.After(now); <-tick.C {
		if t.Context().Err() != nil {
			t.Fatal(r.State())
		}
	}
	return now
}

func set(t *testing.T, db *store.DB, name, value string) {
	t.Helper()
	must(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.SetSetting(t.Context(), name, value) }))
}

// restored restores a folder and returns the settings asked for, by name.
func restored(t *testing.T, folder string, at time.Time, identity string) (*store.DB, replicate.Plan) {
	t.Helper()
	plan, err := replicate.Find(folder, at)
	must(t, err)
	path := filepath.Join(t.TempDir(), "restored.db")
	must(t, plan.Restore(t.Context(), path, []byte(identity), store.Options{}))
	db, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db, plan
}

func count(t *testing.T, db *store.DB) int {
	t.Helper()
	text, err := db.Setting(t.Context(), "counter")
	if errors.Is(err, store.ErrNotFound) {
		return 0
	}
	must(t, err)
	n, err := strconv.Atoi(strings.TrimLeft(text, "x"))
	must(t, err)
	return n
}

// TestEveryMomentIsRestored writes without a pause while SQLite's log begins anew many times, another program writes and copies the log
// into the database too, and snapshots are made: the database as of each moment tried has all that was answered before, and nothing that
// began after.
func TestEveryMomentIsRestored(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{false, true} {
		t.Run(fmt.Sprintf("encrypted=%t", encrypted), func(t *testing.T) {
			t.Parallel()
			db, path := open(t)
			must(t, db.LimitLog(t.Context(), 0))
			cfg, identity := replicate.Config{Folder: filepath.Join(t.TempDir(), "copy"), Every: 5 * time.Millisecond, Snapshot: 300 * time.Millisecond}, ""
			if encrypted {
				key, err := age.GenerateX25519Identity()
				must(t, err)
				cfg.Recipients, identity = []age.Recipient{key.Recipient()}, key.String()
			}
			r, stop := start(t, db, path, cfg)
			other, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
			must(t, err)
			must(t, other.LimitLog(t.Context(), 0))
			var began, answered []time.Time
			end := time.Now().Add(3 * time.Second)
			for n := 1; time.Now().Before(end); n++ {
				began = append(began, time.Now())
				by := db
				if n%7 == 0 {
					by = other
				}
				set(t, by, "counter", strings.Repeat("x", 30_000)+strconv.Itoa(n))
				answered = append(answered, time.Now())
				if n%50 == 0 {
					must(t, other.Checkpoint(t.Context()))
				}
				if n%120 == 0 {
					must(t, db.Checkpoint(t.Context()))
				}
			}
			must(t, other.Close())
			until(t, r)
			stop()
			if r.State().Failure != "" {
				t.Errorf("the copy failed: %s", r.State().Failure)
			}
			last, plan := restored(t, cfg.Folder, time.Time{}, identity)
			if got := count(t, last); got != len(answered) {
				t.Errorf("the last of %d is not there: %d", len(answered), got)
			}
			runs, err := filepath.Glob(filepath.Join(cfg.Folder, "run-*"))
			must(t, err)
			snapshots, err := filepath.Glob(filepath.Join(cfg.Folder, "run-*", "snapshot-*"))
			must(t, err)
			t.Logf("%d transactions; %d runs, %d snapshots, %d segments in the last", len(answered), len(runs), len(snapshots), plan.Segments)
			if len(snapshots) < 3 {
				t.Errorf("%d snapshots", len(snapshots))
			}
			for i := range 12 {
				at := plan.Earliest.Add(plan.At.Sub(plan.Earliest) * time.Duration(i) / 11)
				back, p := restored(t, cfg.Folder, at, identity)
				if p.At.After(at) {
					t.Errorf("as of %s, asked for %s", p.At, at)
				}
				n := count(t, back)
				if n > 0 && began[n-1].After(at) {
					t.Errorf("as of %s it has transaction %d, which began at %s", at, n, began[n-1])
				}
				// A segment has what was answered before the one before it was named.
				before, err := replicate.Find(cfg.Folder, p.At.Add(-time.Millisecond))
				if err == nil && n < len(answered) && answered[n].Before(before.At.Add(-time.Millisecond)) {
					t.Errorf("as of %s it lacks transaction %d, answered at %s", before.At, n+1, answered[n])
				}
			}
		})
	}
}

// TestFolderThatIsAway takes the folder away while the program writes, and gives it back.
func TestFolderThatIsAway(t *testing.T) {
	t.Parallel()
	db, path := open(t)
	folder := filepath.Join(t.TempDir(), "copy")
	r, stop := start(t, db, path, replicate.Config{Folder: folder, Every: 5 * time.Millisecond})
	set(t, db, "counter", "1")
	until(t, r)
	away := folder + ".away"
	must(t, os.Rename(folder, away))
	must(t, os.WriteFile(folder, nil, 0o600)) // no folder can be made there
	set(t, db, "counter", "2")
	for tick := time.NewTicker(time.Millisecond); r.State().Failure == ""; <-tick.C {
		if t.Context().Err() != nil {
			t.Fatal("no failure is told")
		}
	}
	behind := r.State().Since
	set(t, db, "counter", "3")
	must(t, os.Remove(folder))
	must(t, os.Rename(away, folder))
	until(t, r)
	if s := r.State(); s.Failure != "" || !s.Since.After(behind) {
		t.Errorf("it does not go on: %+v", s)
	}
	stop()
	if back, _ := restored(t, folder, time.Time{}, ""); count(t, back) != 3 {
		t.Errorf("it has %d", count(t, back))
	}
}

// TestMountIsGone replaces the folder by an empty one, as an unmounted share does: nothing is copied there, and the copy goes on once it is back. When
// somebody removes the run, it begins anew.
func TestMountIsGone(t *testing.T) {
	t.Parallel()
	db, path := open(t)
	folder := filepath.Join(t.TempDir(), "copy")
	r, stop := start(t, db, path, replicate.Config{Folder: folder, Every: 5 * time.Millisecond})
	set(t, db, "counter", "1")
	until(t, r)
	must(t, os.Rename(folder, folder+".away"))
	must(t, os.Mkdir(folder, 0o700))
	for tick := time.NewTicker(time.Millisecond); !strings.Contains(r.State().Failure, "is it mounted?"); <-tick.C {
		if t.Context().Err() != nil {
			t.Fatal("no failure is told though nothing changed")
		}
	}
	set(t, db, "counter", "2")
	must(t, os.Remove(folder)) // it is empty
	must(t, os.Rename(folder+".away", folder))
	until(t, r)
	if back, _ := restored(t, folder, time.Time{}, ""); count(t, back) != 2 {
		t.Errorf("mounted again, it has %d", count(t, back))
	}
	runs, err := filepath.Glob(filepath.Join(folder, "run-*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	must(t, os.RemoveAll(runs[0]))
	set(t, db, "counter", "3")
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
		if plan, err := replicate.Find(folder, time.Time{}); err == nil && plan.At.After(time.Now().Add(-time.Minute)) {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("it does not begin anew")
		}
	}
	until(t, r)
	stop()
	if back, _ := restored(t, folder, time.Time{}, ""); count(t, back) != 3 {
		t.Errorf("begun anew, it has %d", count(t, back))
	}
}

// TestFolderHangs has the folder answer nothing, as a share does whose server is away: SQLite's log is let go, so that it does not fill the disk, and the
// copy begins anew when the folder answers.
func TestFolderHangs(t *testing.T) {
	t.Parallel()
	const patience = 2 * time.Second
	db, path := open(t)
	must(t, db.LimitLog(t.Context(), 0))
	folder := filepath.Join(t.TempDir(), "copy")
	r, stop := start(t, db, path, replicate.Config{Folder: folder, Every: 5 * time.Millisecond, Patience: patience})
	set(t, db, "counter", "1")
	until(t, r)
	mark := filepath.Join(folder, "lock")
	must(t, os.Rename(mark, mark+".kept"))
	must(t, syscall.Mkfifo(mark, 0o600)) // whoever reads it waits for a writer
	size := int64(1)
	for n := 2; size > 0 || time.Since(r.State().Since) < patience; n++ {
		set(t, db, "counter", strings.Repeat("x", 30_000)+strconv.Itoa(n))
		must(t, db.Checkpoint(t.Context()))
		info, err := os.Stat(path + "-wal")
		must(t, err)
		size = info.Size()
	}
	fifo, err := os.OpenFile(mark, os.O_RDWR, 0)
	must(t, err)
	must(t, os.Rename(mark+".kept", mark))
	must(t, fifo.Close())
	set(t, db, "counter", "1000")
	until(t, r)
	stop()
	if back, _ := restored(t, folder, time.Time{}, ""); count(t, back) != 1000 {
		t.Errorf("it has %d", count(t, back))
	}
}

// TestDamagedCopy changes, cuts and removes files of a copy: a restore that takes them is refused, names the file, and leaves nothing.
func TestDamagedCopy(t *testing.T) {
	t.Parallel()
	db, path := open(t)
	folder := filepath.Join(t.TempDir(), "copy")
	r, stop := start(t, db, path, replicate.Config{Folder: folder, Every: time.Millisecond})
	for n := range 20 {
		set(t, db, "counter", strconv.Itoa(n))
		until(t, r)
	}
	stop()
	segments, err := filepath.Glob(filepath.Join(folder, "run-*", "*-*", "*.seg"))
	must(t, err)
	if len(segments) < 10 {
		t.Fatalf("%d segments", len(segments))
	}
	victim := segments[len(segments)-3]
	whole, err := os.ReadFile(victim)
	must(t, err)
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)/2] ^= 4
	for what, content := range map[string][]byte{"changed": flipped, "cut": whole[:len(whole)-9], "empty": {}, "missing": nil} {
		must(t, os.RemoveAll(victim))
		if content != nil {
			must(t, os.WriteFile(victim, content, 0o600))
		}
		plan, err := replicate.Find(folder, time.Time{})
		into := filepath.Join(t.TempDir(), "restored.db")
		if err == nil {
			err = plan.Restore(t.Context(), into, nil, store.Options{})
		}
		if !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), "run-") {
			t.Errorf("%s: %v", what, err)
		}
		if left, _ := filepath.Glob(into + "*"); len(left) > 0 {
			t.Errorf("%s: it left %v", what, left)
		}
	}
	must(t, os.WriteFile(victim, whole, 0o600))
	if back, _ := restored(t, folder, time.Time{}, ""); count(t, back) != 19 {
		t.Errorf("it has %d", count(t, back))
	}
}

// TestOldCopiesGo keeps what a restore to the last moments takes, and no more; a program that begins again continues the history.
func TestOldCopiesGo(t *testing.T) {
	t.Parallel()
	db, path := open(t)
	cfg := replicate.Config{Folder: filepath.Join(t.TempDir(), "copy"), Every: time.Millisecond}
	r, stop := start(t, db, path, cfg)
	set(t, db, "counter", "1")
	until(t, r)
	first := time.Now().Add(10 * time.Millisecond) // names have milliseconds, rounded up
	stop()
	for tick := time.NewTicker(time.Millisecond); time.Now().Before(first); <-tick.C {
	}
	if _, err := replicate.Find(cfg.Folder, first.Add(-time.Hour)); !errors.Is(err, replicate.ErrNothing) {
		t.Errorf("an hour before: %v", err)
	}
	again, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
	must(t, err)
	r, stop = start(t, again, path, cfg)
	set(t, again, "counter", "2")
	until(t, r)
	back, _ := restored(t, cfg.Folder, first, "")
	if count(t, back) != 1 {
		t.Errorf("the first run has %d", count(t, back))
	}
	if _, second := replicate.New(again, path, cfg); second != nil {
		t.Error(second)
	}
	stop()
	must(t, replicate.Prune(cfg.Folder, time.Now()))
	if runs, _ := filepath.Glob(filepath.Join(cfg.Folder, "run-*")); len(runs) != 1 {
		t.Errorf("left: %v", runs)
	}
	if back, _ := restored(t, cfg.Folder, time.Time{}, ""); count(t, back) != 2 {
		t.Errorf("it has %d", count(t, back))
	}
}

// TestTwoToOneFolder refuses a second program that copies to the same folder.
func TestTwoToOneFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "copy")
	one, onePath := open(t)
	r, _ := start(t, one, onePath, replicate.Config{Folder: folder, Every: time.Millisecond})
	until(t, r)
	two, twoPath := open(t)
	other, err := replicate.New(two, twoPath, replicate.Config{Folder: folder, Now: time.Now})
	must(t, err)
	if err := other.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a folder of its own") {
		t.Errorf("it says %v", err)
	}
	must(t, errors.Join(two.Close(), other.Close()))
}
