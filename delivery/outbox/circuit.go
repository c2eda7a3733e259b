package outbox

import (
	"context"
	"time"

	"schakel/store"
)

// CircuitPolicy says when an endpoint that does not work is left alone for a while (EDU-12).
type CircuitPolicy struct {
	// Failures in a row after which the circuit opens; default 10, negative never.
	Failures int
	// Wait before the first probe; default 30 s. It doubles with every probe that fails.
	Wait time.Duration
	// MaxWait bounds the wait; default 15 minutes.
	MaxWait time.Duration
}

func (p CircuitPolicy) withDefaults() CircuitPolicy {
	if p.Failures == 0 {
		p.Failures = 10
	}
	setDefault(&p.Wait, 30*time.Second)
	setDefault(&p.MaxWait, 15*time.Minute)
	return p
}

// circuit is the state of an endpoint: closed lets everything through; open lets nothing through until probeAt, and
// then one single delivery, which closes it or opens it for longer.
type circuit struct {
	failures int64 // in a row
	openedAt time.Time
	probeAt  time.Time
}

func circuitOf(e store.Endpoint) circuit {
	return circuit{failures: e.CircuitFailures, openedAt: e.CircuitOpenedAt.Time, probeAt: e.CircuitProbeAt.Time}
}

func (c circuit) open() bool { return !c.openedAt.IsZero() }

// after is the state that follows an attempt. It is pure.
func (c circuit) after(worked bool, now time.Time, p CircuitPolicy) circuit {
	if worked {
		return circuit{}
	}
	c.failures++
	if p.Failures < 0 || c.failures < int64(p.Failures) {
		return c
	}
	if !c.open() {
		c.openedAt, c.probeAt = now, now.Add(p.Wait)
	} else if !now.Before(c.probeAt) { // the probe failed; what was still in flight when it opened changes nothing
		c.probeAt = now.Add(min(2*c.probeAt.Sub(c.openedAt), p.MaxWait))
		c.openedAt = now
	}
	return c
}

// row writes the state into an endpoint's row.
func (c circuit) row(e *store.Endpoint) {
	e.Circuit, e.CircuitFailures = store.CircuitClosed, c.failures
	if c.open() {
		e.Circuit = store.CircuitOpen
	}
	e.CircuitOpenedAt, e.CircuitProbeAt = store.At(c.openedAt), store.At(c.probeAt)
}

// worked tells whether the endpoint as such is in order. An answer that refuses one event comes from an endpoint that
// works; no answer and a 5xx do not.
func worked(r Result) bool {
	return r.Attempt.ErrorKind == "" && r.Attempt.StatusCode < 500
}

// judgeCircuits moves the circuits of the endpoints a batch went to and returns the rows of those that opened or closed.
// The caller holds the mutex.
func (e *Engine) judgeCircuits(batch []finished) []store.Endpoint {
	var changed []store.Endpoint
	now, policy := e.cfg.Now(), e.policy().Circuit
	for _, f := range batch {
		if f.outcome == nil || f.result.Uncounted {
			continue
		}
		before := f.lane.circuit
		f.lane.circuit = before.after(worked(f.result), now, policy)
		if after := f.lane.circuit; after.openedAt.Equal(before.openedAt) {
			continue
		} else if !after.open() {
			f.lane.ready = true
		}
		ep := f.ep
		f.lane.circuit.row(&ep)
		changed = append(changed, ep)
	}
	return changed
}

// saveCircuits keeps opened and closed circuits on their endpoints' rows, where people and other nodes see them and from
// where they survive a restart. When that fails this node still heeds them.
func (e *Engine) saveCircuits(ctx context.Context, changed []store.Endpoint) {
	if len(changed) == 0 {
		return
	}
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		for i := range changed {
			if err := tx.SaveCircuit(ctx, &changed[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.cfg.Log.Error("save circuit failed", "endpoints", len(changed), "error", err)
	}
}
