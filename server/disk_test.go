package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"schakel/store/storetest"

	"github.com/mattn/go-sqlite3"
)

// The administrators hear of a disk that runs full while events are still taken, once, and again when it runs full again.
func TestDiskAlert(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	const gib = 1 << 30
	now, mails := space{Free: 50 * gib, Size: 100 * gib}, 0
	var log bytes.Buffer
	d := newDiskWatch("sqlite:"+t.TempDir()+"/x.db", db, func(context.Context, string, uint64, uint64) error { mails++; return nil },
		slog.New(slog.NewTextHandler(&log, nil)))
	d.read = func(string) (space, error) { return now, nil }
	for _, step := range []struct {
		free  uint64
		ready string // of /readyz
		level string // of the line that is logged
		mails int
	}{
		{50 * gib, "ok", "", 0},
		{5*gib - 1, "warning", "WARN", 1},
		{4 * gib, "warning", "", 1},
		{1 << 20, "failed", "ERROR", 1},
		{2 << 20, "failed", "", 1},
		{4 * gib, "warning", "", 1},
		{50 * gib, "ok", "WARN", 1},
		{1 << 20, "failed", "ERROR", 2},
	} {
		now.Free = step.free
		log.Reset()
		d.look(t.Context())
		_, body := readyAnswer([]Readiness{{Name: "disk", Err: d.Ready(t.Context())}})
		if !strings.HasPrefix(body, "disk "+step.ready) || mails != step.mails || (step.level == "") != (log.Len() == 0) || step.level != "" && !strings.Contains(log.String(), "level="+step.level) {
			t.Errorf("%d bytes free: %q, %d mails, log %q; want %+v", step.free, body, mails, log.String(), step)
		}
	}
}

// What fails for a full disk fails hundreds of times a second; the log says it once, and how often it was left out.
func TestRepeatedLogLines(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	var out bytes.Buffer
	log := slog.New(newRepeats(slog.NewTextHandler(&out, nil), func() time.Time { return now })).With("part", "engine")
	full := sqlite3.Error{Code: sqlite3.ErrFull}
	for range 100 {
		log.Error("group commit failed", "submissions", 1, "error", full)
		log.Error("another failure", "error", syscall.EINVAL)
		log.Error("write outcomes failed", "error", errors.Join(full))
		log.Info("group commit failed")
	}
	now = now.Add(time.Second)
	log.Error("group commit failed", "error", full)
	for line, want := range map[string]int{
		"level=ERROR msg=\"group commit failed\"": 2, "msg=\"another failure\"": 100, "msg=\"write outcomes failed\"": 1, "level=INFO": 100, "left_out=99": 1,
	} {
		if got := strings.Count(out.String(), line); got != want {
			t.Errorf("%s: %d lines, want %d", line, got, want)
		}
	}
}
