package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"schakel/server/cli"
	"schakel/store"
)

// Service is one part of the program that works in the background. Start
// returns as soon as the part runs; the context it gets ends the start, not the
// part. Stop finishes what is in flight and returns; when its context ends
// first, it lets go and returns the context's error.
type Service interface {
	Name() string
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Readier lets a Service report whether it can do its work now. The answer
// is a line of /readyz.
type Readier interface {
	Ready(ctx context.Context) error
}

// Readiness is the state of one component: Err is nil when it is ready.
type Readiness struct {
	Name string
	Err  error
}

// warning is the readiness of a component that does its work, but needs a look.
type warning string

// Error implements error.
func (w warning) Error() string { return string(w) }

// errNotStarted is the readiness of a service that is not running (yet, or any more).
var errNotStarted = errors.New("not running")

// Group starts services in the order given and stops them in reverse.
type Group struct {
	log      *slog.Logger
	services []Service

	mu      sync.Mutex
	started int
}

// NewGroup makes a group of services that start in this order.
func NewGroup(log *slog.Logger, services ...Service) *Group {
	return &Group{log: log, services: services}
}

// Add puts a service at the end of the order. It must be called before Start.
func (g *Group) Add(services ...Service) {
	g.services = append(g.services, services...)
}

// Start starts every service in order. When one fails, the error says which;
// those before it keep running until Stop.
func (g *Group) Start(ctx context.Context) error {
	for _, s := range g.services {
		if err := s.Start(ctx); err != nil {
			return fmt.Errorf("start %s: %w", s.Name(), err)
		}
		g.setStarted(+1)
		g.log.InfoContext(ctx, "service started", "service", s.Name())
	}
	return nil
}

// Stop stops the started services, last started first. One that fails or runs
// out of time does not keep the others from being stopped.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for i := g.running() - 1; i >= 0; i-- {
		s := g.services[i]
		g.setStarted(-1)
		if err := s.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.Name(), err))
			continue
		}
		g.log.InfoContext(ctx, "service stopped", "service", s.Name())
	}
	return errors.Join(errs...)
}

// Ready asks every Readier, in start order.
func (g *Group) Ready(ctx context.Context) []Readiness {
	running := g.running()
	var all []Readiness
	for i, s := range g.services {
		r, ok := s.(Readier)
		switch {
		case i >= running:
			all = append(all, Readiness{Name: s.Name(), Err: errNotStarted})
		case ok:
			all = append(all, Readiness{Name: s.Name(), Err: r.Ready(ctx)})
		default:
			all = append(all, Readiness{Name: s.Name()})
		}
	}
	return all
}

func (g *Group) running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.started
}

func (g *Group) setStarted(by int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started += by
}

// periodic is a Service that does the same again and again. A turn that fails is logged, and the next one tries again.
type periodic struct {
	name        string
	first, each time.Duration // before the first turn and before each other one
	turn        func(context.Context) error
	log         *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (p *periodic) Name() string { return p.name }

// Start implements Service.
func (p *periodic) Start(ctx context.Context) error {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.done.Go(func() {
		for wait := p.first; cli.Pause(ctx, wait); wait = p.each {
			if err := p.turn(ctx); err != nil && ctx.Err() == nil {
				p.log.WarnContext(ctx, "a background task failed; it is tried again", "task", p.name, "error", err)
			}
		}
	})
	return nil
}

// Stop implements Service.
func (p *periodic) Stop(ctx context.Context) error {
	p.cancel()
	return waitFor(ctx, &p.done)
}

// funcService is a Service made of functions, for parts too small for a type.
type funcService struct {
	name  string
	start func(context.Context) error
	stop  func(context.Context) error
	ready func(context.Context) error
}

// Name implements Service.
func (s funcService) Name() string { return s.name }

// Start implements Service.
func (s funcService) Start(ctx context.Context) error {
	if s.start == nil {
		return nil
	}
	return s.start(ctx)
}

// Stop implements Service.
func (s funcService) Stop(ctx context.Context) error {
	if s.stop == nil {
		return nil
	}
	return s.stop(ctx)
}

// Ready implements Readier.
func (s funcService) Ready(ctx context.Context) error {
	if s.ready == nil {
		return nil
	}
	return s.ready(ctx)
}

// How long the program waits at its start for a PostgreSQL that is not there yet, such as after a power failure, and how
// often it looks. What does not pass by itself, such as a wrong password, fails at once.
const (
	databaseWait = time.Minute
	databaseLook = time.Second
)

// whenThere opens a database as soon as it is there.
func whenThere(ctx context.Context, database string, log *slog.Logger, open func(context.Context, string) (*store.DB, error)) (*store.DB, error) {
	began := time.Now()
	for {
		db, err := open(ctx, database)
		if err == nil || !strings.HasPrefix(database, "postgres") || !store.Away(err) || time.Since(began) >= databaseWait {
			return db, err
		}
		log.WarnContext(ctx, "the database is not there yet; waiting for it", "error", err, "longest", databaseWait)
		if !cli.Pause(ctx, databaseLook) {
			return nil, err
		}
	}
}
