package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/store"
)

// diskEvery is the time between looks at the free space.
const diskEvery = 2 * time.Second

// diskLevel classifies the room that a volume has left.
type diskLevel int

const (
	diskEnough diskLevel = iota
	diskLow              // an alert is due: intake still works
	diskFull             // intake rejects events, or is about to
)

// space is the room on a volume, in bytes; Free counts what this program may use.
type space struct{ Free, Size uint64 }

// level decides when to alert, as the checks of the installation do.
func (s space) level() diskLevel {
	switch found, _ := installation.JudgeDisk(installation.Disk{Free: s.Free, Size: s.Size}); found.Severity {
	case installation.Error:
		return diskFull
	case installation.Warning:
		return diskLow
	}
	return diskEnough
}

// spaceOf reads the room on the volume of a folder.
func spaceOf(dir string) (space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return space{}, fmt.Errorf("read free space of %s: %w", dir, err)
	}
	return space{Free: s.Bavail * uint64(s.Bsize), Size: s.Blocks * uint64(s.Bsize)}, nil //nolint:gosec // sizes are not negative
}

// diskWatch is the service that looks at the volume of an SQLite database: it alerts while there is still room, and makes the most of
// what is left. PostgreSQL's disk is not ours to see.
type diskWatch struct {
	dir   string
	db    *store.DB
	alert func(ctx context.Context, dir string, free, size uint64) error // mails the administrators
	log   *slog.Logger
	read  func(dir string) (space, error)

	before diskLevel
	mailed bool
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// newDiskWatch makes the watch; it is nil for a database that is not SQLite.
func newDiskWatch(database string, db *store.DB, alert func(context.Context, string, uint64, uint64) error, log *slog.Logger) *diskWatch {
	path, ok := strings.CutPrefix(database, "sqlite:")
	if !ok {
		return nil
	}
	return &diskWatch{dir: filepath.Dir(path), db: db, alert: alert, log: log, read: spaceOf}
}

// Name implements Service.
func (d *diskWatch) Name() string { return "disk" }

// Start implements Service.
func (d *diskWatch) Start(ctx context.Context) error {
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.done.Go(func() {
		for d.look(ctx); cli.Pause(ctx, diskEvery); {
			d.look(ctx)
		}
	})
	return nil
}

// Stop implements Service.
func (d *diskWatch) Stop(ctx context.Context) error {
	d.cancel()
	return waitFor(ctx, &d.done)
}

// Ready implements Readier: a warning while there is little room, a failure when there is none.
func (d *diskWatch) Ready(context.Context) error {
	fact := installation.Disk{Folder: d.dir}
	if s, err := d.read(d.dir); err != nil {
		fact.Failure = err.Error()
	} else {
		fact.Free, fact.Size = s.Free, s.Size
	}
	return readiness(installation.JudgeDisk(fact))
}

// look alerts when the volume ran low since the last look.
func (d *diskWatch) look(ctx context.Context) {
	s, err := d.read(d.dir)
	if err != nil {
		d.log.WarnContext(ctx, "cannot read how much disk space is free", "error", err)
		return
	}
	// Before there is too little room for what the log has to bring into the database.
	if err := d.db.LimitLog(ctx, s.Free); err != nil && !errors.Is(err, context.Canceled) {
		d.log.WarnContext(ctx, "cannot limit the log of the database", "error", err)
	}
	level := s.level()
	if level != diskEnough {
		d.relieve(ctx, s)
	} else {
		d.mailed = false
	}
	attrs := []any{"folder", d.dir, "free_bytes", s.Free, "size_bytes", s.Size}
	switch {
	case level > d.before && level == diskFull:
		d.log.ErrorContext(ctx, "the disk is full: events are rejected", attrs...)
	case level > d.before:
		d.log.WarnContext(ctx, "low disk space: events are rejected when the disk is full", attrs...)
	case level < d.before && level == diskEnough:
		d.log.WarnContext(ctx, "there is enough disk space again", attrs...)
	}
	d.before = level
}

// relieve alerts the administrators once, and has SQLite write its log into the database and give its room back, so that a volume
// the log alone has filled has room again.
func (d *diskWatch) relieve(ctx context.Context, s space) {
	if !d.mailed {
		d.mailed = d.alert(ctx, d.dir, s.Free, s.Size) == nil // on a full disk it is tried again
	}
	if err := d.db.Checkpoint(ctx); err != nil && !store.Away(err) && !errors.Is(err, context.Canceled) {
		d.log.WarnContext(ctx, "cannot write the log of the database back", "error", err)
	}
}

// Describe implements prometheus.Collector.
func (d *diskWatch) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(d, ch) }

// Collect implements prometheus.Collector.
func (d *diskWatch) Collect(ch chan<- prometheus.Metric) {
	s, _ := d.read(d.dir)
	for name, value := range map[string]uint64{"free": s.Free, "size": s.Size} {
		desc := prometheus.NewDesc("schakel_disk_"+name+"_bytes", "Space on the volume of the database: "+name+".", nil, nil)
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
	}
}
