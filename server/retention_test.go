package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schakel/server/cli"
	"schakel/store"
	"schakel/store/storetest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func sevenDays(context.Context) (time.Duration, error) { return 7 * day, nil }

// node is one node of a cluster with a single task, whose steps the test sees.
func node(t *testing.T, db *store.DB, now func() time.Time, step func() (store.Pruned, error)) *retention {
	t.Helper()
	r, err := newRetention(db, RetentionFlags{}, sevenDays, (*store.Tx).PruneAudit, quiet())
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := RetentionFlags{}.schedule()
	if err != nil {
		t.Fatal(err)
	}
	r.now = now
	r.tasks = []pruneTask{{name: "test", schedule: schedule, step: func(*store.Tx, context.Context, store.Time, string, int) (store.Pruned, error) {
		return step()
	}}}
	return r
}

// turn is a turn of the only task.
func (r *retention) once(t *testing.T) (next time.Time) {
	t.Helper()
	next, err := r.turn(t.Context(), r.tasks[0])
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A task runs once per schedule on all nodes together, and one that fell silent is followed up when its lease ends.
func TestOneNodeRunsATask(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clock := clock // the database reads the same one
		var ran []string
		step := func(name string) func() (store.Pruned, error) {
			return func() (store.Pruned, error) {
				ran = append(ran, name)
				return store.Pruned{Done: true}, nil
			}
		}
		a, b := node(t, db, clock.Now, step("a")), node(t, db, clock.Now, step("b"))
		if got, want := a.once(t), clock.Now().Truncate(time.Hour).Add(17*time.Minute); !got.After(clock.Now()) || got.Minute() != want.Minute() {
			t.Errorf("next run at %v", got)
		}
		b.once(t)
		if fmt.Sprint(ran) != "[a]" {
			t.Fatalf("ran %v, want a alone", ran)
		}
		task, err := db.ClusterTask(t.Context(), "test")
		if err != nil || task.Owner != a.node || task.Running() {
			t.Fatalf("task %+v, %v", task, err)
		}
		// b takes the next run and dies in the middle of it: nothing is written any more.
		dead := task
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			tx.Now = store.At(task.StartedAt.Add(time.Microsecond))
			_, err := tx.StartTask(t.Context(), dead, b.node, store.At(tx.Now.Add(taskLease)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if next := a.once(t); len(ran) != 1 || next.Sub(clock.Now()) > taskLease+time.Second {
			t.Fatalf("a ran %v while b holds the lease; looks again at %v", ran, next)
		}
		a.now = func() time.Time { return clock.Now().Add(2 * taskLease) }
		a.once(t)
		if fmt.Sprint(ran) != "[a a]" {
			t.Fatalf("ran %v, want a to take over", ran)
		}
	}, storetest.WithClock(clock))
}

// A node that lost its lease undoes its step and leaves the task alone.
func TestLeaseLostInTheMiddle(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	steps := 0
	r := node(t, db, clock.Now, func() (store.Pruned, error) {
		steps++
		clock.Advance(2 * taskLease) // the node hangs, and another could have taken over
		return store.Pruned{Rows: 1, Cursor: "x"}, nil
	})
	r.once(t)
	if steps != 1 {
		t.Errorf("went on for %d steps without a lease", steps)
	}
	if task, err := db.ClusterTask(t.Context(), "test"); err != nil || !task.Running() {
		t.Errorf("task %+v, %v; want it left to others", task, err)
	}
}

// The loop runs at the start and then by schedule, reports failures, and stops.
func TestRetentionLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.SQLite(t)
		var ran []time.Time
		fail := errors.New("disk full")
		r := node(t, db, time.Now, func() (store.Pruned, error) {
			ran = append(ran, time.Now())
			if len(ran) == 2 {
				return store.Pruned{}, fail
			}
			return store.Pruned{Rows: 3, Done: len(ran)%2 == 0}, nil
		})
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		if err := r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		// At once, again after the pause (which fails), and twice at 00:17 or 01:17.
		if len(ran) < 4 || ran[2].Minute() != 17 {
			t.Errorf("ran at %v", ran)
		}
	})
}

// Stop in the middle of a run leaves the rest to another node at once.
func TestStopLetsGo(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	ctx, cancel := context.WithCancel(t.Context())
	r := node(t, db, clock.Now, func() (store.Pruned, error) {
		cancel()
		return store.Pruned{Rows: 1, Cursor: "half"}, nil
	})
	if _, err := r.turn(ctx, r.tasks[0]); !errors.Is(err, context.Canceled) {
		t.Fatalf("turn: %v", err)
	}
	task, err := db.ClusterTask(t.Context(), "test")
	if err != nil || task.LeaseUntil.After(clock.Now()) {
		t.Errorf("task %+v, %v: still leased", task, err)
	}
}

func TestRetentionFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", ""},
		{"--keep-events 0", ""},
		{"--keep-events 192h", ""},
		{"--keep-events 191h --key-lifetime 24h", "at least 192h"},
		{"--keep-events=-1h --key-lifetime 24h", "--keep-events"},
		{"--keep-events 720h --key-lifetime 720h", "a day longer than --key-lifetime"},
		{"--keep-mails=-1h", "--keep-mails must not be less than 0"},
		{"--keep-jobs=-1h", "--keep-jobs must not be less than 0"},
		{"--prune-schedule nonsense", "--prune-schedule"},
		{"--prune-schedule 0/5****", "--prune-schedule"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			parser, err := cli.NewParser(&CLI{}, cli.Streams{Out: io.Discard, Err: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			_, err = cli.Parse(parser, append([]string{"serve"}, strings.Fields(c.args)...))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Keys that live longer than was thought at the start keep their events longer.
func TestKeysKeepEvents(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	lives := 7 * day
	r, err := newRetention(db, RetentionFlags{KeepEvents: 8 * day}, func(context.Context) (time.Duration, error) { return lives, nil }, (*store.Tx).PruneAudit, quiet())
	if err != nil {
		t.Fatal(err)
	}
	r.now = clock.Now
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.InsertEvents(t.Context(), []store.Event{{ID: tx.NewID("evt"), CEID: "1", Attributes: []byte("{}"), AcceptedAt: tx.Now}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	events := slices.IndexFunc(r.tasks, func(t pruneTask) bool { return t.name == "events" })
	left := func() int {
		if _, err := r.turn(t.Context(), r.tasks[events]); err != nil {
			t.Fatal(err)
		}
		_, n, err := db.Events(t.Context(), store.EventFilter{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	lives = 28 * day
	clock.Advance(28 * day)
	if left() != 1 {
		t.Error("an event went whose key may still live")
	}
	lives = 7 * day
	clock.Advance(2 * time.Hour)
	if left() != 0 {
		t.Error("the event did not go after that")
	}
}

// What is kept for ever has no task.
func TestRetentionTasks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags RetentionFlags
		want  string
	}{
		{RetentionFlags{}, "traffic changes partitions expired objects mutation-files quarantine mirrors downloads mutations publications mutation-downloads inbox"},
		{RetentionFlags{KeepEvents: 30 * day, KeepAttemptBodies: 14 * day, KeepAudit: 730 * day, KeepMails: 30 * day, KeepJobs: 90 * day}, "traffic changes partitions expired objects mutation-files events batches identities quarantine mirrors downloads mutations publications mutation-downloads amqp attempt-bodies audit issue-events mails jobs inbox"},
		{RetentionFlags{KeepAudit: day, PruneSchedule: "0 3 * * *"}, "traffic changes partitions expired objects mutation-files quarantine mirrors downloads mutations publications mutation-downloads audit issue-events inbox"},
	} {
		tasks, err := c.flags.tasks(sevenDays, (*store.Tx).PruneAudit)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, task := range tasks {
			names = append(names, task.name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v: tasks %s, want %s", c.flags, got, c.want)
		}
	}
}

func TestRetentionMetrics(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	db := storetest.SQLite(t, storetest.WithClock(clock))
	done := false
	r := node(t, db, clock.Now, func() (store.Pruned, error) {
		defer func() { done = true }()
		return store.Pruned{Rows: 21, Done: done}, nil
	})
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(r.metrics()...)
	r.once(t)
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, line := range []string{
		`schakel_pruned_rows_total{task="test"} 42`, `schakel_prune_failures_total{task="test"} 0`,
		`schakel_prune_last_removed_rows{task="test"} 42`, `schakel_prune_last_failed{task="test"} 0`,
	} {
		if !strings.Contains(answer.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, answer.Body)
		}
	}
	if err := r.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// A lifetime of keys that was lengthened in the portal beyond what events are kept is told at the start, and events are kept.
// Rules: IDEM-07.
func TestRaisedRetentionIsTold(t *testing.T) {
	t.Parallel()
	for lives, told := range map[time.Duration]bool{7 * day: false, 28 * day: true} {
		var log strings.Builder
		r, err := newRetention(storetest.SQLite(t), RetentionFlags{KeepEvents: 8 * day},
			func(context.Context) (time.Duration, error) { return lives, nil }, (*store.Tx).PruneAudit, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.tellRaised(t.Context()); err != nil || strings.Contains(log.String(), "kept longer than --keep-events") != told {
			t.Errorf("%v: %v, %s", lives, err, log.String())
		}
	}
}
