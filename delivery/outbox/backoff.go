package outbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"schakel/delivery/outbound"
	"schakel/store"
)

// backoff holds the wait that an endpoint asked for with Retry-After, and the ramp after it (EDU-10): nothing starts before
// its end, then a single request probes, and each request that works lets one more run at once. The endpoint's row holds the
// wait for other nodes and across a restart. The engine's mutex guards it.
type backoff struct {
	until      time.Time // nothing starts before
	probe      bool      // a single request has to work before all others
	width      int       // the ramp: requests that may run at once; 0 for as many as the endpoint takes
	generation int       // counts changes: an attempt that began before the last change does not move the ramp
	running    int       // attempts in flight
}

// extend begins a backoff, or lengthens it.
func (p *backoff) extend(until time.Time) {
	if until.After(p.until) {
		p.until = until
	}
	p.probe, p.width = true, 1
	p.generation++
}

// end ends a backoff because another node's probe worked: this node begins with one request as well.
func (p *backoff) end() {
	if p.probe {
		p.until, p.probe = time.Time{}, false
		p.generation++
	}
}

// widen widens the ramp after an attempt that worked, up to the concurrency of the endpoint. It reports whether that attempt
// was the probe.
func (p *backoff) widen(number, most int) bool {
	if p.width == 0 || number != p.generation {
		return false
	}
	probe := p.probe
	if probe {
		p.until, p.probe = time.Time{}, false
	}
	if p.width++; p.width > most {
		p.width = 0
	}
	return probe
}

// active reports whether nothing may start.
func (p *backoff) active(now time.Time) bool { return now.Before(p.until) }

// full reports whether no more than the held deliveries may be held, given how many each request can take.
func (p *backoff) full(held, each int) bool { return p.width > 0 && held >= p.room(each) }

// room bounds the deliveries that may be held on the ramp.
func (p *backoff) room(each int) int {
	if p.probe {
		return 1
	}
	return p.width * each
}

// begin counts an attempt that begins now, unless the backoff of its endpoint forbids it. The caller passes the number to
// ended and mayWrite.
func (e *Engine) begin(q *endpointQueue, probe bool) (number int, ok bool) {
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &q.backoff
	if p.active(now) || p.probe && !probe || p.width > 0 && p.running >= p.width {
		return 0, false
	}
	p.running++
	return p.generation, true
}

// mayWrite reports whether an attempt that began may send its request: no backoff began since.
func (e *Engine) mayWrite(q *endpointQueue, number int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return q.backoff.generation == number && !e.closing.Load()
}

// gated makes a transport call mayWrite right before it sends: connecting or fetching a token may have taken a while.
func (e *Engine) gated(ctx context.Context, q *endpointQueue, number int) context.Context {
	return outbound.WithGate(ctx, func() bool { return e.mayWrite(q, number) })
}

// ended applies the answers of an attempt before the next one can begin. It reports whether the attempt was a probe that worked.
func (e *Engine) ended(q *endpointQueue, number int, results ...Result) (over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q.backoff.running--
	until := latestNotBefore(results)
	if !until.IsZero() {
		q.backoff.extend(until)
		return false
	}
	r := results[0]
	return !r.Untried && !r.Uncounted && worked(r) && r.Attempt.StatusCode != 429 && q.backoff.widen(number, cap(q.slots))
}

// latestNotBefore returns the latest time that results of one request name for the endpoint; zero when none does.
func latestNotBefore(results []Result) (until time.Time) {
	for _, r := range results {
		if r.NotBefore.After(until) {
			until = r.NotBefore
		}
	}
	return until
}

// saveBackoffs writes the waits that a batch of outcomes asks for on the endpoints' rows, and notifies the other nodes.
func (e *Engine) saveBackoffs(ctx context.Context, tx *store.Tx, batch []sendResult) error {
	waits := make(map[string]time.Time)
	for _, f := range batch {
		if f.outcome != nil && f.result.NotBefore.After(waits[f.ep.ID]) {
			waits[f.ep.ID] = f.result.NotBefore
		}
	}
	for id, until := range waits {
		if err := tx.ExtendWait(ctx, id, store.At(until)); err != nil {
			return err
		}
		if err := e.notifyWait(ctx, tx, id, until.UnixMicro()); err != nil {
			return err
		}
	}
	for _, f := range batch {
		if !f.probeWorked || !waits[f.ep.ID].IsZero() {
			continue
		}
		ended, err := tx.EndWait(ctx, f.ep.ID, e.node)
		if err != nil {
			return err
		}
		if ended {
			if err := e.notifyWait(ctx, tx, f.ep.ID, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitWord marks a notification of a wait: "<node> wait <endpoint> <microseconds since 1970, or 0 when it is over>".
const waitWord = "wait"

func (e *Engine) notifyWait(ctx context.Context, tx *store.Tx, endpointID string, until int64) error {
	return tx.Notify(ctx, strings.Join([]string{e.node, waitWord, endpointID, strconv.FormatInt(until, 10)}, " "))
}

// onWaitNotification applies the wait that another node announced.
func (e *Engine) onWaitNotification(endpointID, until string) {
	micros, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return
	}
	e.mu.Lock()
	if q := e.queues[endpointID]; q != nil && micros > 0 {
		q.backoff.extend(time.UnixMicro(micros))
	} else if q != nil {
		q.backoff.end()
	}
	e.mu.Unlock()
	e.ready(map[string]struct{}{endpointID: {}})
}

// learnWait applies a wait on the endpoint's row, unless it bounds this node's own probe.
func (q *endpointQueue) learnWait(w store.EndpointWait, node string) {
	if w.Until.IsZero() || w.ProbeOwner == node {
		return
	}
	if w.Until.After(q.backoff.until) || !q.backoff.probe {
		q.backoff.extend(w.Until.Time)
	}
}

// heedWait applies a wait that kept the queue from claiming: when the row has none any more, another node's probe worked.
func (q *endpointQueue) heedWait(w store.EndpointWait, node string) {
	if w.Until.IsZero() {
		q.backoff.end()
		return
	}
	q.learnWait(w, node)
}

// shortenBackoffs writes the waits of all queues on the rows of their endpoints, after the clock was set back.
func (e *Engine) shortenBackoffs(ctx context.Context) error {
	waits := make(map[string]time.Time)
	e.mu.Lock()
	for id, q := range e.queues {
		if !q.backoff.until.IsZero() {
			waits[id] = q.backoff.until
		}
	}
	e.mu.Unlock()
	if len(waits) == 0 {
		return nil
	}
	return e.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		for id, until := range waits {
			if err := tx.ShortenWait(ctx, id, store.At(until)); err != nil {
				return err
			}
		}
		return nil
	})
}

// waits reads the endpoints that wait, for a claim. On SQLite this node knows them already.
func (e *Engine) waits(ctx context.Context, tx *store.Tx) (map[string]store.EndpointWait, error) {
	if e.cfg.DB.Dialect() == store.SQLite {
		return nil, nil
	}
	rows, err := tx.EndpointWaits(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	waits := make(map[string]store.EndpointWait, len(rows))
	for _, w := range rows {
		waits[w.EndpointID] = w
	}
	return waits, nil
}

// claimUnlessWaiting calls claimQueue unless the endpoint waits or another node probes it.
func (e *Engine) claimUnlessWaiting(ctx context.Context, tx *store.Tx, r claimRequest, waits map[string]store.EndpointWait) (claimedWork, error) {
	id := r.queue.endpoint.ID
	if w := waits[id]; !r.probe && !w.Until.IsZero() && w.ProbeOwner != e.node {
		return claimedWork{wait: &w}, nil
	}
	if !r.probe {
		return e.claimQueue(ctx, tx, r)
	}
	mine, w, err := tx.TakeProbe(ctx, id, e.node, store.At(tx.Now.Add(e.attemptTime(&r.queue.endpoint)+probeSlack)))
	if err != nil {
		return claimedWork{}, fmt.Errorf("take probe of endpoint: %w", err)
	}
	if !mine {
		return claimedWork{wait: &w}, nil
	}
	work, err := e.claimQueue(ctx, tx, r)
	if err == nil && len(work.singles)+len(work.batches) == 0 {
		err = tx.GiveProbeBack(ctx, id, e.node)
	}
	return work, err
}

// probeSlack is added to the time of an attempt: until then a probe keeps the other nodes from trying.
const probeSlack = 5 * time.Second
