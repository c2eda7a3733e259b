package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"schakel/store"
)

// recorder keeps the order in which services were started and stopped.
type recorder struct{ events []string }

func (r *recorder) service(name string, startErr error, stop func(context.Context) error) Service {
	return funcService{
		name: name,
		start: func(context.Context) error {
			r.events = append(r.events, "start "+name)
			return startErr
		},
		stop: func(ctx context.Context) error {
			r.events = append(r.events, "stop "+name)
			if stop != nil {
				return stop(ctx)
			}
			return nil
		},
	}
}

func TestGroupOrder(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name     string
		startErr error // of the third service
		stopErr  error // of the second service
		want     []string
	}{
		{"all well", nil, nil, []string{"start a", "start b", "start c", "stop c", "stop b", "stop a"}},
		{"third does not start", boom, nil, []string{"start a", "start b", "start c", "stop b", "stop a"}},
		{"second does not stop", nil, boom, []string{"start a", "start b", "start c", "stop c", "stop b", "stop a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{}
			g := NewGroup(slog.New(slog.DiscardHandler),
				r.service("a", nil, nil),
				r.service("b", nil, func(context.Context) error { return tt.stopErr }),
				r.service("c", tt.startErr, nil))
			if err := g.Start(t.Context()); !errors.Is(err, tt.startErr) {
				t.Errorf("Start: %v, want %v", err, tt.startErr)
			}
			if err := g.Stop(t.Context()); !errors.Is(err, tt.stopErr) {
				t.Errorf("Stop: %v, want %v", err, tt.stopErr)
			}
			if !reflect.DeepEqual(r.events, tt.want) {
				t.Errorf("events %q, want %q", r.events, tt.want)
			}
		})
	}
}

func TestGroupStopDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		stuck := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		g := NewGroup(slog.New(slog.DiscardHandler), r.service("a", nil, nil), r.service("stuck", nil, stuck))
		if err := g.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), stopTimeout)
		defer cancel()
		if err := g.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop: %v, want deadline exceeded", err)
		}
		if took := time.Since(began); took != stopTimeout || took >= 10*time.Second {
			t.Errorf("took %v, want %v and below 10 s", took, stopTimeout)
		}
		if last := r.events[len(r.events)-1]; last != "stop a" {
			t.Errorf("last event %q: a stuck service kept the others from stopping", last)
		}
	})
}

func TestGroupReady(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	g := NewGroup(slog.New(slog.DiscardHandler),
		funcService{name: "store"},
		funcService{name: "dispatcher", ready: func(context.Context) error { return down }})
	if got := g.Ready(t.Context()); got[0].Err == nil {
		t.Error("ready before it was started")
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []Readiness{{"store", nil}, {"dispatcher", down}}
	if got := g.Ready(t.Context()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The program waits a while for a PostgreSQL that is away, and for nothing else.
func TestWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	away, wrong := &net.OpError{Op: "dial", Err: errors.New("connection refused")}, errors.New("wrong password")
	there := &store.DB{}
	for name, c := range map[string]struct {
		database string
		answers  []error // the last one stays
		took     time.Duration
		want     error
	}{
		"there":           {"postgres://x", []error{nil}, 0, nil},
		"there soon":      {"postgres://x", []error{away, away, nil}, 2 * databaseLook, nil},
		"never there":     {"postgresql://x", []error{away}, databaseWait, away},
		"there but wrong": {"postgres://x", []error{away, wrong}, databaseLook, wrong},
		"a file":          {"sqlite:x", []error{away}, 0, away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				db, err := whenThere(t.Context(), c.database, quiet(), func(context.Context, string) (*store.DB, error) {
					err := c.answers[0]
					if len(c.answers) > 1 {
						c.answers = c.answers[1:]
					}
					if err != nil {
						return nil, err
					}
					return there, nil
				})
				if !errors.Is(err, c.want) || (err == nil) != (db == there) || time.Since(began) != c.took {
					t.Errorf("after %v: %v, %v", time.Since(began), db, err)
				}
			})
		})
	}
}
