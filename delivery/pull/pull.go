// Package pull hands deliveries to consumers that fetch them (EDU-17, OPEN-01). It has the verbs of Azure Event Grid's pull
// delivery: receive leases, acknowledge ends, release gives back, reject puts in the error queue, renew extends the lease.
//
// A delivery that was received and not settled when its lease ends can be received again: at least once, never lost
// (guarantee G1). Nothing is handed out from a subscription that is not approved (guarantee G2). Two consumers of one
// subscription never hold the same delivery at the same time.
//
// The known hole: a consumer that goes on working after its lease ended may handle an event that another has received
// again. It sees so when it acknowledges: the lock is lost.
package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"schakel/delivery/jwe"
	"schakel/store"
	"schakel/templates/i18n"
)

// Bounds of input.
const (
	MaxEvents    = 100 // of one receive
	MaxTokens    = 100 // of one call that settles
	MaxWait      = 60 * time.Second
	MinLease     = time.Second
	MaxLease     = 300 * time.Second
	DefaultLease = 60 * time.Second
	MaxDelay     = 3600 * time.Second
)

// Config configures a Service. Each field has a default but DB.
type Config struct {
	DB *store.DB
	// Now is the clock; default time.Now. It must be the database's.
	Now func() time.Time
	Log *slog.Logger
	// MaxReceives bounds the receives of a delivery without an acknowledgement; then it is dead. Default 10.
	MaxReceives int
	// Poll is the interval at which a waiting call looks by itself; default 1 s. Events accepted by this node, or by a node
	// that can notify it, wake it at once.
	Poll time.Duration
	// SweepEvery is the interval at which ended leases without an answer are recorded; default 15 s.
	SweepEvery time.Duration
	// MaxWaiting bounds the calls that wait for one endpoint at a time; the others are answered at once. Default 100.
	MaxWaiting int
	// Encrypter encrypts the data of events whose subscription asks for that. Default none: they are not handed out.
	Encrypter *jwe.Service
	// Draining is closed when the program stops: calls that wait are answered at once. Default never.
	Draining <-chan struct{}
}

// Service serves the verbs. It is safe for concurrent use.
type Service struct {
	cfg     Config
	waiters waiters
	cancel  context.CancelFunc
	sweeper sync.WaitGroup
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.MaxReceives = cmp.Or(max(cfg.MaxReceives, 0), 10)
	cfg.Poll = cmp.Or(max(cfg.Poll, 0), time.Second)
	cfg.SweepEvery = cmp.Or(max(cfg.SweepEvery, 0), 15*time.Second)
	cfg.MaxWaiting = cmp.Or(max(cfg.MaxWaiting, 0), 100)
	return &Service{cfg: cfg, waiters: waiters{most: cfg.MaxWaiting}}
}

// Wake wakes the calls that wait for these endpoints; nil wakes all. It is the engine's OnReady.
func (s *Service) Wake(endpoints map[string]struct{}) { s.waiters.wake(endpoints) }

// ErrNotPull: the endpoint of the subscription is of another kind.
var ErrNotPull = errors.New("the endpoint of this subscription is not of kind pull")

// InputError reports a value that is out of bounds.
type InputError struct {
	Field string
	Text  i18n.Message
}

// Error implements error.
func (e *InputError) Error() string { return e.Field + ": " + e.Text.String() }

// StoppedError: nothing may be received now. Text explains why, and what to do.
type StoppedError struct{ Text i18n.Message }

// Error implements error.
func (e *StoppedError) Error() string { return e.Text.String() }

// endpoint finds the endpoint of a subscription, which must be of kind pull.
func (s *Service) endpoint(ctx context.Context, sub store.Subscription) (store.Endpoint, error) {
	e, err := s.cfg.DB.Endpoint(ctx, sub.EndpointID)
	if err != nil {
		return e, fmt.Errorf("find endpoint: %w", err)
	}
	if e.Kind != store.EndpointPull {
		return e, ErrNotPull
	}
	return e, nil
}

// open returns an error unless events may be received from a subscription as it is now.
func (s *Service) open(ctx context.Context, subscriptionID string) error {
	sub, err := s.cfg.DB.Subscription(ctx, subscriptionID)
	if err != nil {
		return fmt.Errorf("find subscription: %w", err)
	}
	e, err := s.endpoint(ctx, sub)
	if err != nil {
		return err
	}
	return stopped(sub, e)
}

// stopped returns the reason why nothing is handed out, or nil.
func stopped(sub store.Subscription, e store.Endpoint) error {
	switch {
	case e.Status == store.EndpointPaused:
		return &StoppedError{"outbox.pull.endpoint-paused"}
	case e.Status != store.EndpointActive:
		return &StoppedError{endpointText(e.Status)}
	case sub.Status == store.SubscriptionPaused:
		return &StoppedError{"outbox.pull.subscription-paused"}
	case sub.Status == store.SubscriptionRequested:
		return &StoppedError{"outbox.pull.subscription-requested"}
	case !sub.Sending && sub.Status == store.SubscriptionApproved:
		return &StoppedError{"outbox.pull.organisation"}
	case !sub.Sending:
		return &StoppedError{subscriptionText(sub.Status)}
	}
	return nil
}

func endpointText(status string) i18n.Message {
	switch status {
	case store.EndpointSuspended:
		return "outbox.pull.endpoint-suspended"
	case store.EndpointEnded:
		return "outbox.pull.endpoint-ended"
	}
	return i18n.M("outbox.pull.endpoint-other", status)
}

func subscriptionText(status string) i18n.Message {
	switch status {
	case store.SubscriptionSuspended:
		return "outbox.pull.subscription-suspended"
	case store.SubscriptionEnded:
		return "outbox.pull.subscription-ended"
	case store.SubscriptionRejected:
		return "outbox.pull.subscription-rejected"
	}
	return i18n.M("outbox.pull.subscription-other", status)
}

// sweepStep bounds the rows one transaction of the sweep changes, so that others do not wait long for the writer.
const sweepStep = 500

// Sweep records the leases that ended without an answer, so that the portal shows the deliveries of consumers that never came
// back. The loop that Start begins calls it.
func (s *Service) Sweep(ctx context.Context) error {
	for {
		var n int
		err := s.cfg.DB.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.PullExpire(ctx, int64(s.cfg.MaxReceives), sweepStep)
			return err
		})
		if err != nil {
			return fmt.Errorf("expire leases: %w", err)
		}
		if n < sweepStep {
			return nil
		}
	}
}

func between(field string, n, least, most time.Duration) error {
	if n < least || n > most {
		return &InputError{field, i18n.M("outbox.pull.between", field, int64(least/time.Second), int64(most/time.Second))}
	}
	return nil
}

// Name implements the program's service interface.
func (s *Service) Name() string { return "pull" }

// Start starts the loop that records ended leases.
func (s *Service) Start(ctx context.Context) error {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.sweeper.Go(func() { s.sweepLoop(ctx) })
	return nil
}

// Stop stops it. Draining ends the calls that wait.
func (s *Service) Stop(ctx context.Context) error {
	s.cancel()
	stopped := make(chan struct{})
	go func() {
		s.sweeper.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) sweepLoop(ctx context.Context) {
	turn := time.NewTicker(s.cfg.SweepEvery)
	defer turn.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.ErrorContext(ctx, "leases could not be swept", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}
