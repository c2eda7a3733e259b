// Package replicate copies each change of a SQLite database to a folder, within a second or so, while the program works: on another disk,
// or on a share or bucket that is mounted. A database as of any moment of the last days is made of that folder.
//
// The folder holds a run for each time the program ran: snapshots of the file, and segments with the pages that changed since the segment
// before, read from SQLite's log. It is behind by [Config.Every] and the time to write a segment: what was acknowledged in that time is
// lost with the machine. The key of the secrets is not in it. PostgreSQL has replication of its own.
package replicate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"schakel/store"
)

// Config of a replication. Folder and Now are required.
type Config struct {
	// Folder takes the copy; it is made when it is not there.
	Folder string
	// Recipients can read the copy; without any it is not encrypted.
	Recipients []age.Recipient
	// Every is the time between two looks at what changed; default 1 s.
	Every time.Duration
	// Snapshot is the time between two copies of the whole file, which bound how long a restore takes; default 24 h.
	Snapshot time.Duration
	// Keep bounds the age of the moments that can be restored; default 72 h.
	Keep time.Duration
	// Patience bounds how long the folder may take to answer, as a share that is away does not, while SQLite's log grows; default 1 min.
	Patience time.Duration
	// Made is told of each copy of the whole file, and its size in bytes; default nobody is.
	Made func(ctx context.Context, bytes int64)
	Now  func() time.Time
	Log  *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Every, c.Snapshot, c.Keep = cmp.Or(c.Every, time.Second), cmp.Or(c.Snapshot, 24*time.Hour), cmp.Or(c.Keep, 72*time.Hour)
	c.Patience = cmp.Or(c.Patience, time.Minute)
	c.Log = cmp.Or(c.Log, slog.Default())
	return c
}

// maxPending bounds what waits in memory for a folder that cannot be written, in bytes. After that the run is given up, so that SQLite's log
// does not grow, and another one begins when the folder is back.
const maxPending = 64 << 20

// State describes a copy.
type State struct {
	Since   time.Time // everything committed before is in the copy; zero when nothing is yet, or it cannot be restored yet
	Failure string    // why the last try failed; empty when it did not
	Bytes   int64     // written by this process
}

// Replicator copies one database. Run does the work.
type Replicator struct {
	cfg   Config
	db    *store.DB
	files files
	state atomic.Pointer[State]
	bytes atomic.Int64

	mark string // in the folder, while this process copies to it

	turns chan struct{} // holds one value while somebody works on run; Turn and Run take turns
	run   *run
	held  atomic.Pointer[hold] // that of run
	began atomic.Int64         // when the step that goes on began, in nanoseconds; 0 between two
}

// run is a row of segments without a gap.
type run struct {
	folder  string
	at      position
	seq     int64 // of the segment that was made last
	logSeq  int64 // of the segment in which the log that SQLite writes now begins
	prev    string
	pending []*segment
	waiting int // bytes of pending

	copying    *snapshot // goes on
	whole      string    // path of the last snapshot that is whole; empty before the first
	snapshotAt time.Time // when the last one began
	pruned     time.Time
}

// New prepares to copy the database in the file path. Close it after the database.
func New(db *store.DB, path string, cfg Config) (*Replicator, error) {
	if db.Dialect() != store.SQLite {
		return nil, errors.New("only a SQLite database is copied to a folder; PostgreSQL has replication of its own")
	}
	r := &Replicator{cfg: cfg.withDefaults(), db: db, files: files{path: path}, mark: rand.Text(), turns: make(chan struct{}, 1)}
	r.state.Store(&State{})
	return r, nil
}

// Close closes the files of the database. It must not be called while the database is open: closing them lets go of the locks that SQLite
// has on them.
func (r *Replicator) Close() error { return r.files.close() }

// State returns the state of the copy.
func (r *Replicator) State() State {
	s := *r.state.Load()
	s.Bytes = r.bytes.Load()
	return s
}

// Run copies until ctx ends, and what was committed until then.
func (r *Replicator) Run(ctx context.Context) error {
	taken, err := takeFolder(r.cfg.Folder, r.mark)
	if err != nil {
		return err
	}
	defer taken.Close()
	r.db.OwnLog(r.Turn)
	defer r.db.OwnLog(nil)
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	watched, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go r.watch(watched)
	for {
		r.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r.finish(context.WithoutCancel(ctx))
		}
	}
}

// finish copies the rest and lets go of the database.
func (r *Replicator) finish(ctx context.Context) error {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	if r.run == nil {
		return nil
	}
	r.run.copying.stop()
	if s := r.run.copying; s != nil && (!s.ended() || s.err != nil) {
		r.run.copying = nil // broken off
	}
	err := r.step(ctx)
	r.abandon()
	return err
}

// look does what is due, and tells of it when it fails for the first time and when it works again.
func (r *Replicator) look(ctx context.Context) {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	now, before := r.cfg.Now(), r.state.Load()
	r.began.Store(now.UnixNano())
	err := r.step(ctx)
	r.began.Store(0)
	if ctx.Err() != nil && err != nil {
		return
	}
	next := State{Since: before.Since}
	switch {
	case err != nil:
		next.Failure = err.Error()
		if before.Failure == "" {
			r.cfg.Log.ErrorContext(ctx, "the database is not copied to its folder; this is tried again", "folder", r.cfg.Folder, "error", err)
		}
		if r.run != nil && (errors.Is(err, errGap) || errors.Is(err, errChecksum) || r.run.waiting > maxPending) {
			r.cfg.Log.WarnContext(ctx, "the copy of the database begins anew", "run", r.run.folder, "error", err)
			r.abandon()
		}
	case r.run.whole != "":
		next.Since = now
		if before.Failure != "" {
			r.cfg.Log.WarnContext(ctx, "the database is copied to its folder again", "folder", r.cfg.Folder)
		}
	}
	r.state.Store(&next)
}

// step copies what was committed since the last one.
func (r *Replicator) step(ctx context.Context) error {
	if err := isThere(r.cfg.Folder, r.mark); err != nil {
		return errors.Join(err, r.collectMore(ctx))
	}
	if r.run == nil {
		if err := r.begin(ctx); err != nil {
			return err
		}
	}
	u := r.run
	if u.whole != "" {
		if _, err := os.Stat(u.whole); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: somebody removed %s", errGap, u.whole)
		}
	}
	done := u.copying.ended() // before collect: that has all that the snapshot has then
	if err := r.collectMore(ctx); err != nil {
		return err
	}
	if err := r.flush(); err != nil {
		return err
	}
	if done {
		if err := r.keep(ctx); err != nil {
			return err
		}
	}
	if int64(u.at.frame) >= r.db.LogPages() {
		if err := r.turn(ctx); err != nil {
			return err
		}
	}
	now := r.cfg.Now()
	if u.copying == nil && now.Sub(u.snapshotAt) >= r.cfg.Snapshot {
		r.copy()
	}
	if u.whole != "" && now.Sub(u.pruned) >= time.Hour {
		u.pruned = now
		return Prune(r.cfg.Folder, now.Add(-r.cfg.Keep))
	}
	return nil
}

// begin begins a run. A reader keeps SQLite from beginning its log anew from here on.
func (r *Replicator) begin(ctx context.Context) error {
	held, err := r.newHold(ctx)
	if err != nil {
		return err
	}
	u := &run{logSeq: 1}
	if err = r.files.open(); err == nil {
		u.folder, err = newRun(r.cfg.Folder, r.cfg.Now())
	}
	var is index
	if err == nil {
		is, err = r.files.index()
	}
	if err != nil {
		held.end()
		return err
	}
	u.at = position{salt: is.salt}
	r.run = u
	r.held.Store(held)
	r.copy()
	return nil
}

// copy begins a snapshot: a copy of the file, which SQLite goes on changing meanwhile. All that it changes it takes from its log, and all of
// that, from the log's first frame on, is in segments; so the copy and the segments until it was made make a whole.
func (r *Replicator) copy() {
	u := r.run
	u.snapshotAt = r.cfg.Now()
	u.copying = startSnapshot(r.files.database, u.folder, u.logSeq, r.cfg.Recipients, &r.bytes)
}

// keep gives a snapshot that was made its name, with the segment from which on it can be restored.
func (r *Replicator) keep(ctx context.Context) error {
	u := r.run
	s := u.copying
	u.copying = nil
	if s.err != nil {
		u.snapshotAt = time.Time{} // is tried again
		return fmt.Errorf("copy the file of the database: %w", s.err)
	}
	path, err := s.name(u.seq, r.cfg.Now())
	if err != nil {
		return err
	}
	u.whole = path
	if r.cfg.Made != nil {
		r.cfg.Made(ctx, s.size)
	}
	return nil
}

// collectMore collects, and lets another reader hold the log when there was something. It does nothing without a run.
func (r *Replicator) collectMore(ctx context.Context) error {
	if r.run == nil {
		return nil
	}
	before := r.run.at
	if err := r.collect(); err != nil || r.run.at == before {
		return err
	}
	return r.renew(ctx)
}

// collect reads what was committed since, and makes a segment of it.
func (r *Replicator) collect() error {
	u := r.run
	is, err := r.files.index()
	if err != nil {
		return err
	}
	if r.held.Load() == nil { // asked after the index was read, so that it was held then
		return fmt.Errorf("%w: the folder did not answer for %s, and SQLite's log was let go", errGap, r.cfg.Patience)
	}
	now := r.cfg.Now() // what is committed later is in none of these segments
	if is.salt != u.at.salt {
		if u.at.frame > 0 && !is.follows(u.at.salt) {
			return fmt.Errorf("%w: SQLite's log began anew before all of it was copied", errGap)
		}
		u.at, u.logSeq = position{salt: is.salt}, u.seq+1
	}
	if is.frames < u.at.frame {
		return fmt.Errorf("%w: SQLite's log is shorter than what was copied of it", errGap)
	}
	for u.at.frame < is.frames {
		s, at, err := r.files.read(u.at, is)
		if err != nil {
			return err
		}
		u.seq++
		s.Sequence, s.At = u.seq, now
		u.pending, u.waiting, u.at = append(u.pending, s), u.waiting+s.size(), at
	}
	return nil
}

// flush writes the segments that wait.
func (r *Replicator) flush() error {
	u := r.run
	for len(u.pending) > 0 {
		s := u.pending[0]
		s.Previous = u.prev
		sum, n, err := s.write(u.folder, r.cfg.Recipients)
		if err != nil {
			return fmt.Errorf("write segment %d: %w", s.Sequence, err)
		}
		r.bytes.Add(n)
		u.prev, u.pending, u.waiting = sum, u.pending[1:], u.waiting-s.size()
	}
	return nil
}
