package outbox

import (
	"cmp"
	"context"
	"time"
)

// Policy holds the settings of the engine that can change while it runs. A zero member is as in Config.
type Policy struct {
	// KeyLifetime is the validity of an Idempotency-Key that begins now (IDEM-07).
	KeyLifetime time.Duration
	// Circuit configures when the circuit of a failing endpoint opens (EDU-12).
	Circuit CircuitPolicy
	// Dedupe leaves repeated events out of every subscription, also of those that do not ask for it (EDU-18b).
	Dedupe bool
}

// refresh reads the policy again. Call it before a transaction or a lock, never within: the answer may come from the database.
// On an error the last one stays.
func (e *Engine) refresh(ctx context.Context) {
	if e.cfg.Live == nil {
		return
	}
	p, err := e.cfg.Live(ctx)
	if err != nil {
		e.cfg.Log.Error("read policy failed", "error", err)
		return
	}
	p.KeyLifetime = cmp.Or(p.KeyLifetime, e.cfg.KeyLifetime)
	p.Circuit = p.Circuit.withDefaults()
	e.live.Store(&p)
}

// policy returns the policy that applies now.
func (e *Engine) policy() Policy {
	if p := e.live.Load(); p != nil {
		return *p
	}
	return Policy{KeyLifetime: e.cfg.KeyLifetime, Circuit: e.cfg.Circuit}
}
