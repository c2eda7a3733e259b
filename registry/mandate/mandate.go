// Package mandate asks a register whether an organisation has mandated an intermediary to send or receive for it (SEC-14), and remembers the
// answers, over nodes and restarts.
//
// It guarantees that an answer is never used for longer than it was configured to be believed, and that a register which cannot be
// asked counts as no mandate unless the operator chose otherwise. It does not judge who is an intermediary: callers ask only where an
// organisation acts for another one.
package mandate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"schakel/registry"
	"schakel/store"
)

// Question asks whether an organisation mandated another for a service. OINs have 20 characters.
type Question struct {
	Intermediary, Organisation string // OINs
	Service                    string // as the register names it
}

// Source answers from a register.
type Source interface {
	// Mandated reports whether there is a mandate at a moment. An error is a register that could not be asked.
	Mandated(ctx context.Context, q Question, at time.Time) (bool, error)
}

// Service names the service of event types at the register.
type Service struct {
	Types []string // event types, or prefixes and a star
	Name  string
}

const (
	// refusedFor is for how long a mandate that is not there is not asked for again, so that a new one works soon.
	refusedFor = time.Minute
	// retry is after how long a register that could not be asked is asked again.
	retry = 10 * time.Second
	// timeout bounds one question.
	timeout = 10 * time.Second
	// maxRemembered bounds the answers in memory.
	maxRemembered = 20_000
)

// Config configures a [Checker].
type Config struct {
	Source    Source
	Services  []Service     // the first that names a type counts; of other types no mandate is asked
	Fresh     time.Duration // for how long a mandate is believed
	Attribute string        // of events, which names the organisation that they are for; empty for none
	Open      bool          // a register that cannot be asked lets pass what it let pass before, and what it never answered
	DB        *store.DB
	Now       func() time.Time
	Log       *slog.Logger
}

// Checker answers whether an intermediary may act. It is safe for concurrent use.
type Checker struct {
	cfg   Config
	group singleflight.Group

	mu     sync.Mutex
	memory map[Question]verdict
}

// verdict is an answer, or a failure, until it is asked again.
type verdict struct {
	registry.Mandate
	until time.Time
}

var _ registry.Mandates = (*Checker)(nil)

// New makes a checker.
func New(cfg Config) *Checker {
	return &Checker{cfg: cfg, memory: map[Question]verdict{}}
}

// serviceOf finds the service of an event type; ok is false for a type that needs no mandate.
func (c *Checker) serviceOf(eventType string) (string, bool) {
	for _, s := range c.cfg.Services {
		for _, pattern := range s.Types {
			prefix, open := strings.CutSuffix(pattern, "*")
			if pattern == eventType || open && strings.HasPrefix(eventType, prefix) {
				return s.Name, true
			}
		}
	}
	return "", false
}

// ask answers from memory, from what another node was told, or from the register.
func (c *Checker) ask(ctx context.Context, intermediary, organisation, service string) (registry.Mandate, error) {
	q := Question{intermediary, organisation, service}
	if v, ok := c.remembered(q); ok {
		return v, nil
	}
	key := strings.Join([]string{intermediary, organisation, service}, "\x00")
	answer, err, _ := c.group.Do(key, func() (any, error) {
		if v, ok := c.remembered(q); ok {
			return v, nil
		}
		// Whoever gives up must not fail the others that wait.
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return c.learn(own, q)
	})
	m, _ := answer.(registry.Mandate)
	return m, err
}

func (c *Checker) remembered(q Question) (registry.Mandate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.memory[q]
	return v.Mandate, ok && c.cfg.Now().Before(v.until)
}

func (c *Checker) remember(q Question, m registry.Mandate, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.memory) >= maxRemembered {
		clear(c.memory) // the database has them
	}
	c.memory[q] = verdict{m, until}
}

// learn takes the answer of another node while it is fresh, or asks the register.
func (c *Checker) learn(ctx context.Context, q Question) (registry.Mandate, error) {
	before, err := c.cfg.DB.Mandate(ctx, q.Intermediary, q.Organisation, q.Service)
	known := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return registry.Mandate{}, fmt.Errorf("find mandate: %w", err)
	}
	now := c.cfg.Now()
	m := registry.Mandate{Service: q.Service, Organisation: q.Organisation, Mandated: before.Mandated, Asked: before.AskedAt.Time}
	if until := c.until(m); known && now.Before(until) {
		c.remember(q, m, until)
		return m, nil
	}
	mandated, err := c.cfg.Source.Mandated(ctx, q, now)
	if err != nil {
		c.cfg.Log.WarnContext(ctx, "the register of mandates cannot be asked", "error", err)
		m.Unknown = true
		m.Mandated = c.cfg.Open && (!known || before.Mandated)
		c.remember(q, m, now.Add(retry))
		return m, nil
	}
	m.Mandated, m.Asked = mandated, now
	if err := c.keep(ctx, q, m, known, before.Mandated); err != nil {
		return registry.Mandate{}, err
	}
	c.remember(q, m, c.until(m))
	return m, nil
}

func (c *Checker) until(m registry.Mandate) time.Time {
	if m.Mandated {
		return m.Asked.Add(c.cfg.Fresh)
	}
	return m.Asked.Add(min(refusedFor, c.cfg.Fresh))
}

// keep stores an answer for other nodes and for pages; the audit trail has those that are new or different.
func (c *Checker) keep(ctx context.Context, q Question, m registry.Mandate, known, before bool) error {
	return c.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		row := store.Mandate{Intermediary: q.Intermediary, Organisation: q.Organisation, Service: q.Service, Mandated: m.Mandated, AskedAt: store.At(m.Asked)}
		if err := tx.SaveMandate(ctx, &row); err != nil {
			return fmt.Errorf("store mandate: %w", err)
		}
		if known && before == m.Mandated {
			return nil
		}
		action, partnerID, name := registry.ActionMandateFound, "", q.Intermediary
		if !m.Mandated {
			action = registry.ActionMandateMissing
		}
		partner, err := tx.PartnerByOIN(ctx, q.Intermediary)
		switch {
		case err == nil:
			partnerID, name = partner.ID, partner.Name
		case !errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("find intermediary: %w", err)
		}
		return registry.Record(ctx, tx, registry.SystemActor(), action, registry.ObjectOf("partner", partnerID, name, partnerID),
			registry.Details{"organisation": q.Organisation, "service": q.Service})
	})
}
