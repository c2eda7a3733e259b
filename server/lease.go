package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/server/cli"
	"schakel/store"
)

// leases gives a node work that one node of the cluster does at a time. When a node dies another takes its work over.
type leases struct {
	db    *store.DB
	log   *slog.Logger
	node  string
	lease time.Duration // how long a node may be silent before another takes its work over
	beat  time.Duration // how often it says that it is at work
	most  int           // pieces of work of this node at the same time

	mu   sync.Mutex
	busy map[string]bool // at work here
}

// seen reads a task; of one that never ran there is the name alone.
func (l *leases) seen(ctx context.Context, name string) (store.ClusterTask, error) {
	return seenTask(ctx, l.db, name)
}

func seenTask(ctx context.Context, db *store.DB, name string) (store.ClusterTask, error) {
	seen, err := db.ClusterTask(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return store.ClusterTask{Name: name}, nil
	}
	if err != nil {
		return seen, fmt.Errorf("read task: %w", err)
	}
	return seen, nil
}

// begin takes a place for a task, when there is one and the task is not at work here.
func (l *leases) begin(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[name] || len(l.busy) >= l.most {
		return false
	}
	if l.busy == nil {
		l.busy = map[string]bool{}
	}
	l.busy[name] = true
	return true
}

func (l *leases) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, name)
}

// turn does the work of a task, unless another node was faster. The work ends when its lease is lost. Work that another node
// overtook (store.ErrConflict) has not failed: it is begun anew at the next look, without the wait after a failure.
func (l *leases) turn(ctx context.Context, seen store.ClusterTask, work func(context.Context) error) error {
	mine := false
	err := l.db.Write(ctx, func(tx *store.Tx) (err error) {
		mine, err = tx.StartTask(ctx, seen, l.node, store.At(tx.Now.Add(l.lease)))
		return err
	})
	if err != nil || !mine {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beats sync.WaitGroup
	beats.Go(func() { l.keep(ctx, seen.Name, cancel) })
	failure := work(ctx)
	overtaken := errors.Is(failure, store.ErrConflict)
	stopped := ctx.Err() != nil || overtaken
	cancel()
	beats.Wait()
	if overtaken {
		l.log.InfoContext(ctx, "another node overtook a task; it is begun anew", "task", seen.Name, "error", failure)
		failure = nil
	}
	return errors.Join(failure, finishTask(ctx, l.db, seen.Name, l.node, failure, stopped))
}

// keep keeps the lease while the work is done, and ends that when the lease is lost.
func (l *leases) keep(ctx context.Context, name string, lost func()) {
	for cli.Pause(ctx, l.beat) {
		err := l.db.Write(ctx, func(tx *store.Tx) error {
			return tx.StepTask(ctx, name, l.node, store.At(tx.Now.Add(l.lease)))
		})
		if errors.Is(err, store.ErrLeaseLost) {
			l.log.WarnContext(ctx, "another node has taken a task over", "task", name)
			lost()
		}
	}
}

// finishTask writes what came of a task. One that was broken off is left to another node at once.
func finishTask(ctx context.Context, db *store.DB, name, node string, failure error, stopped bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return db.Write(ctx, func(tx *store.Tx) error {
		if stopped {
			return tx.LetGoOfTask(ctx, name, node)
		}
		text := ""
		if failure != nil {
			text = failure.Error()
		}
		return tx.FinishTask(ctx, name, node, text)
	})
}

// waitFor waits until all work has ended, or lets go.
func waitFor(ctx context.Context, work *sync.WaitGroup) error {
	finished := make(chan struct{})
	go func() { work.Wait(); close(finished) }()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
