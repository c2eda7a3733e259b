package outbox

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// CircuitPolicy configures when the circuit of a failing endpoint opens, and for how long (EDU-12).
type CircuitPolicy struct {
	// Failures in a row open the circuit; default 10, negative never.
	Failures int
	// Wait is the time to the first probe; default 30 s. It doubles with every probe that fails.
	Wait time.Duration
	// MaxWait bounds the wait; default 15 minutes.
	MaxWait time.Duration
	// AlertAfter is the time an open circuit takes to notify people; default 15 minutes.
	AlertAfter time.Duration
	// SuspendAfter is the time after which the endpoint of an open circuit is suspended, with its events held, until a person
	// resumes it; default 5 days.
	SuspendAfter time.Duration
}

func (p CircuitPolicy) withDefaults() CircuitPolicy {
	p.Failures = cmp.Or(p.Failures, 10)
	p.Wait = cmp.Or(p.Wait, 30*time.Second)
	p.MaxWait = cmp.Or(p.MaxWait, 15*time.Minute)
	p.AlertAfter = cmp.Or(p.AlertAfter, 15*time.Minute)
	p.SuspendAfter = cmp.Or(p.SuspendAfter, 5*24*time.Hour)
	return p
}

// circuit is the state of an endpoint: closed lets everything through; open lets nothing through until probeAt, and then one
// single delivery, which closes it or opens it for longer.
type circuit struct {
	failures int64 // in a row; while open, those before it opened and the probes that failed
	openedAt time.Time
	probeAt  time.Time
	planned  time.Time // when the probe would be, had nobody asked for it at once; zero when nobody did
}

func circuitOf(e store.Endpoint) circuit {
	return circuit{failures: e.CircuitFailures, openedAt: e.CircuitOpenedAt.Time, probeAt: e.CircuitProbeAt.Time, planned: e.CircuitPlannedAt.Time}
}

func (c circuit) open() bool { return !c.openedAt.IsZero() }

// after returns the state that follows an attempt. It is pure.
func (c circuit) after(worked bool, now time.Time, p CircuitPolicy) circuit {
	if worked {
		return circuit{}
	}
	if c.open() && now.Before(c.probeAt) {
		return c // an attempt in flight when it opened changes nothing
	}
	c.failures++
	if p.Failures < 0 || c.failures < int64(p.Failures) {
		return c
	}
	if !c.open() {
		c.openedAt = now
	}
	c.probeAt, c.planned = now.Add(c.wait(p)), time.Time{}
	return c
}

// wait returns the time to the next probe: it doubles with every probe that failed.
func (c circuit) wait(p CircuitPolicy) time.Duration {
	probes := max(0, min(c.failures-int64(p.Failures), 20))
	return min(p.Wait<<probes, p.MaxWait)
}

// alerts reports whether this failed probe notifies people: the first one after the circuit was open for AlertAfter.
func (c circuit) alerts(before circuit, now time.Time, p CircuitPolicy) bool {
	if !c.open() || !before.open() || now.Sub(c.openedAt) < p.AlertAfter {
		return false
	}
	planned := before.probeAt
	if !before.planned.IsZero() {
		planned = before.planned
	}
	last := planned.Add(-before.wait(p)) // when the probe before this one failed
	return last.Sub(c.openedAt) < p.AlertAfter
}

func (c circuit) row(e *store.Endpoint) {
	e.Circuit, e.CircuitFailures = store.CircuitClosed, c.failures
	if c.open() {
		e.Circuit = store.CircuitOpen
	}
	e.CircuitOpenedAt, e.CircuitProbeAt = store.At(c.openedAt), store.At(c.probeAt)
	e.CircuitPlannedAt = store.At(c.planned)
}

// worked reports whether the endpoint as such works. An answer that rejects one event comes from an endpoint that works; no
// answer and a 5xx do not.
func worked(r Result) bool {
	return r.Attempt.ErrorKind == "" && r.Attempt.StatusCode < 500
}

// circuitChange is a circuit that an attempt moved, and its consequences.
type circuitChange struct {
	queue    *endpointQueue
	endpoint store.Endpoint // with the new state
	alert    bool           // notify people
	suspend  bool           // it was open for too long
	cause    i18n.Message   // detail of the last attempt
}

// moveCircuits moves the circuits of the endpoints of a batch of outcomes and returns those that opened, closed or failed a
// probe. The caller holds the mutex.
func (e *Engine) moveCircuits(batch []sendResult) []circuitChange {
	var changes []circuitChange
	now, policy := e.cfg.Now(), e.policy().Circuit
	for _, f := range batch {
		if f.outcome == nil || f.result.Uncounted || sendsElsewhere(f) {
			continue
		}
		before := f.queue.circuit
		after := before.after(worked(*f.result), now, policy)
		f.queue.circuit = after
		if after.probeAt.Equal(before.probeAt) {
			continue
		}
		if !after.open() {
			f.queue.ready = true
		}
		e.circuitMoves++
		f.queue.moved = e.circuitMoves
		f.queue.unsaved++
		t := circuitChange{
			queue: f.queue, endpoint: *f.ep, alert: after.alerts(before, now, policy),
			suspend: after.open() && now.Sub(after.openedAt) >= policy.SuspendAfter, cause: f.result.Detail,
		}
		after.row(&t.endpoint)
		changes = append(changes, t)
	}
	return changes
}

// sendsElsewhere reports whether the endpoint got another destination while an attempt was on its way, which says nothing about that one.
func sendsElsewhere(f sendResult) bool {
	return f.ep.URL != f.queue.endpoint.URL || f.ep.TokenURL != f.queue.endpoint.TokenURL
}

// saveCircuits writes circuits to their endpoints' rows, where people and other nodes see them and from where they survive a
// restart, and notifies people of those that stay open. When that fails this node still heeds them.
func (e *Engine) saveCircuits(ctx context.Context, changes []circuitChange) {
	if len(changes) == 0 {
		return
	}
	err := e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		for _, t := range changes {
			if err := e.saveCircuit(ctx, tx, t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.cfg.Log.Error("save circuit failed", "endpoints", len(changes), "error", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.circuitMoves++
	for _, t := range changes {
		t.queue.moved = e.circuitMoves
		t.queue.unsaved--
	}
}

// learn applies an endpoint's row, read when the engine had counted so many moves of circuits. A circuit that moved since, or whose
// move is not saved yet, stays: an older one would probe again at once and tell people twice. What a person changed meanwhile counts.
// The caller holds the mutex.
func (q *endpointQueue) learn(ep store.Endpoint, moves uint64) {
	newer := (q.unsaved > 0 || q.moved > moves) && ep.ConfigVersion == q.endpoint.ConfigVersion
	circuit := q.circuit
	q.configure(ep)
	if newer {
		q.circuit = circuit
	}
}

// saveCircuit leaves an open circuit out when somebody changed the endpoint after the attempt began: who resumed it would see it
// suspended again by what was found before. The next attempt decides.
func (e *Engine) saveCircuit(ctx context.Context, tx *store.Tx, t circuitChange) error {
	if t.endpoint.Circuit == store.CircuitOpen {
		ep, err := tx.Endpoint(ctx, t.endpoint.ID)
		if err != nil {
			return fmt.Errorf("save circuit: %w", err)
		}
		if ep.ConfigVersion != t.endpoint.ConfigVersion {
			return nil
		}
	}
	if err := tx.SaveCircuit(ctx, &t.endpoint); err != nil {
		return fmt.Errorf("save circuit: %w", err)
	}
	if t.suspend {
		reason := i18n.M("verdict.circuit-suspended", t.endpoint.CircuitOpenedAt.Time, t.cause)
		_, err := e.suspendEndpoint(ctx, tx, t.endpoint.ID, string(reason))
		return err
	}
	if t.alert {
		return e.cfg.Notifier.EndpointFailing(ctx, tx, t.endpoint, string(t.cause))
	}
	return nil
}
