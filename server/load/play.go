package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"schakel/server/trial"
)

// play plays scenarios one after the other and prints a line for each as soon as it is known. One that fails does not
// keep the others from being played.
func play(ctx context.Context, o options, chosen []scenario, out io.Writer) error {
	var failed, broken error
	p := &printer{out: out}
	told := report{Seconds: o.Seconds}
	err := try(ctx, out, o.Scratch, func(t trial.T) {
		onPostgres := slices.ContainsFunc(chosen, func(s scenario) bool { return s.postgres })
		h := newHouse(t, o, onPostgres)
		told.Machine = machine(t)
		p.line(fmt.Sprintf("%s\nevents of %d bytes, %d connections, %d s each\n\n%s", told.Machine, eventBytes, o.Connected, o.Seconds, heading()))
		for _, s := range chosen {
			if s.postgres && h.postgres == nil {
				continue
			}
			results, err := perform(ctx, h, s, out)
			if err != nil {
				failed = fmt.Errorf("%s: %w", s.name, err)
			}
			for _, r := range results {
				told.add(p, r)
			}
			if ctx.Err() != nil {
				return
			}
		}
		p.line(legend)
		broken = told.write(o.JSON)
	})
	for _, e := range []error{ctx.Err(), failed, err, p.err, broken} {
		if e != nil {
			return e
		}
	}
	return nil
}

// perform plays one scenario and puts everything away.
func perform(ctx context.Context, h *house, plan scenario, out io.Writer) (results []result, err error) {
	err = try(ctx, out, h.Scratch, func(t trial.T) {
		s := newStage(t, h, plan)
		results = plan.play(s)
		for _, n := range s.nodes {
			n.Stop(t)
		}
	})
	return results, err
}

// add prints a result, with its shares of its ceiling and its relay, and keeps it.
func (told *report) add(p *printer, r result) {
	for _, other := range told.Results {
		switch {
		case other.Delivered == 0:
		case other.Name == r.Ceiling:
			r.OfCeiling = r.Delivered / other.Delivered
		case other.Name == r.Relay:
			r.OfRelay = r.Delivered / other.Delivered
		}
	}
	told.Results = append(told.Results, r)
	p.line(line(r))
}

// machine describes the machine of the measurement, and how busy it was before.
func machine(t trial.T) string {
	raw, _ := os.ReadFile("/proc/loadavg")
	load := strings.Fields(string(raw))
	return fmt.Sprintf("%d processors, %s, load average before %s, a write of 4 KiB is on disk after %s (median)",
		runtime.NumCPU(), runtime.Version(), strings.Join(load[:min(3, len(load))], " "), diskTime(t))
}

// diskTime measures how long a small write takes until it is on the disk of the scratch folder; 0 in a folder in memory.
func diskTime(t trial.T) time.Duration {
	file, err := os.Create(filepath.Join(t.TempDir(), "write"))
	trial.Must(t, err)
	defer file.Close()
	var h histogram
	for range 100 {
		began := time.Now()
		_, err := file.WriteAt(make([]byte, 4096), 0)
		trial.Must(t, err)
		trial.Must(t, file.Sync())
		h.add(time.Since(began))
	}
	return h.quantile(0.5)
}

// bench stands in for a test in a scenario: it collects cleanups and notes a failure. It
// implements [trial.T].
type bench struct {
	ctx     context.Context
	out     io.Writer
	scratch string
	failed  atomic.Bool

	mu       sync.Mutex
	cleanups []func()
}

var _ trial.T = (*bench)(nil)

var errFailed = errors.New("a scenario failed: what was wrong is said above")

// try runs do and the cleanups, and reports whether it failed.
func try(ctx context.Context, out io.Writer, scratch string, do func(t trial.T)) error {
	ctx, cancel := context.WithCancel(ctx)
	b := &bench{ctx: ctx, out: out, scratch: scratch}
	ended := make(chan struct{})
	go func() { // of its own, because Fatal ends it
		defer close(ended)
		defer b.cleanup()
		defer cancel()
		do(b)
	}()
	<-ended
	if b.Failed() {
		return errFailed
	}
	return nil
}

func (b *bench) cleanup() {
	for {
		b.mu.Lock()
		if len(b.cleanups) == 0 {
			b.mu.Unlock()
			return
		}
		last := b.cleanups[len(b.cleanups)-1]
		b.cleanups = b.cleanups[:len(b.cleanups)-1]
		b.mu.Unlock()
		last()
	}
}

// Context ends before anything is put away.
func (b *bench) Context() context.Context { return b.ctx }

// Helper does nothing here.
func (b *bench) Helper() {}

// Logf writes a line.
func (b *bench) Logf(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// Errorf notes a failure and goes on.
func (b *bench) Errorf(format string, args ...any) {
	b.failed.Store(true)
	b.Logf("failed: "+format, args...)
}

// Fatal notes a failure and ends the scenario.
func (b *bench) Fatal(args ...any) { b.Fatalf("%s", fmt.Sprint(args...)) }

// Fatalf notes a failure and ends the scenario.
func (b *bench) Fatalf(format string, args ...any) {
	b.Errorf(format, args...)
	runtime.Goexit()
}

// Failed reports whether a failure was noted.
func (b *bench) Failed() bool { return b.failed.Load() }

// Cleanup has do called at the end, the last one first.
func (b *bench) Cleanup(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cleanups = append(b.cleanups, do)
}

// TempDir makes a folder that is removed at the end.
func (b *bench) TempDir() string {
	dir, err := os.MkdirTemp(b.scratch, "schakel-load-")
	trial.Must(b, err)
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Errorf("remove scratch folder: %v", err)
		}
	})
	return dir
}
