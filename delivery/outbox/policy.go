package outbox

import (
	"context"
	"time"
)

// Policy is what of the engine's behaviour can change while it runs. A zero member is as in Config.
type Policy struct {
	// KeyLifetime is how long an Idempotency-Key that begins now is valid (IDEM-07).
	KeyLifetime time.Duration
	// Circuit says when an endpoint that does not work is left alone (EDU-12).
	Circuit CircuitPolicy
	// Dedupe leaves repeated events out of every subscription, also of those that do not ask for it (EDU-18b).
	Dedupe bool
}

// refresh asks for the policy anew. It is called before a transaction or a lock, never within: the answer may come from
// the database. When there is none the last one stays.
func (e *Engine) refresh(ctx context.Context) {
	if e.cfg.Live == nil {
		return
	}
	p, err := e.cfg.Live(ctx)
	if err != nil {
		e.cfg.Log.Error("read policy failed", "error", err)
		return
	}
	setDefault(&p.KeyLifetime, e.cfg.KeyLifetime)
	p.Circuit = p.Circuit.withDefaults()
	e.live.Store(&p)
}

// policy is what holds now.
func (e *Engine) policy() Policy {
	if p := e.live.Load(); p != nil {
		return *p
	}
	return Policy{KeyLifetime: e.cfg.KeyLifetime, Circuit: e.cfg.Circuit}
}
