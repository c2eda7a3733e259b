package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"schakel/server/trial"
)

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
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Errorf("remove scratch folder: %v", err)
		}
	})
	return dir
}
