package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"schakel/server/cli"
	"schakel/store"
)

// LogFlags choose how the program writes its log to standard error.
type LogFlags struct {
	LogFormat string     `enum:"text,json" default:"text" help:"Format of the log: text or json."`
	LogLevel  slog.Level `default:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// logger makes the log of the program.
func (f LogFlags) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(newRepeats(slog.NewJSONHandler(w, opts), cli.Clock))
	}
	return slog.New(newRepeats(slog.NewTextHandler(w, opts), cli.Clock))
}

// repeatEvery is the least time between two messages about an unavailable database.
const repeatEvery = time.Second

// repeats passes log records on, but of those that report the same message about an unavailable database, such as a full disk, one a
// second, with the number left out since the last. Everything that is tried meanwhile fails in the same way.
type repeats struct {
	slog.Handler
	seen *repeated
}

// repeated remembers what was logged, for all loggers of a program. It is safe for concurrent use.
type repeated struct {
	mu  sync.Mutex
	now func() time.Time
	of  map[string]*repetition
}

type repetition struct {
	at      time.Time
	leftOut int
}

func newRepeats(h slog.Handler, now func() time.Time) slog.Handler {
	return repeats{h, &repeated{now: now, of: make(map[string]*repetition)}}
}

// Handle implements slog.Handler.
func (h repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn || !unavailable(r) {
		return h.Handler.Handle(ctx, r)
	}
	leftOut, due := h.seen.take(r.Message)
	if !due {
		return nil
	}
	if leftOut > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out", leftOut))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeats{h.Handler.WithAttrs(attrs), h.seen}
}

// WithGroup implements slog.Handler.
func (h repeats) WithGroup(name string) slog.Handler {
	return repeats{h.Handler.WithGroup(name), h.seen}
}

// take reports whether a message is due, and how many like it were left out since the last.
func (s *repeated) take(message string) (leftOut int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.of[message]
	if !known {
		last = new(repetition)
		s.of[message] = last // messages are constants: there are few
	}
	now := s.now()
	if known && now.Sub(last.at).Abs() < repeatEvery {
		last.leftOut++
		return 0, false
	}
	leftOut, last.leftOut, last.at = last.leftOut, 0, now
	return leftOut, true
}

// unavailable reports whether a record has an error that says so of the database.
func unavailable(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		found = ok && store.Away(err)
		return !found
	})
	return found
}
