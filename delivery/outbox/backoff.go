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

// pause is the wait that an endpoint asked for with Retry-After, and the way back after it (EDU-10): nothing starts before its
// end, then a single request tries, and each request that works lets one more run at once. The endpoint's row holds the wait for
// other nodes and for the time after a restart. The engine's mutex guards it.
type pause struct {
	until   time.Time // nothing starts before
	probe   bool      // a single request has to try before all others
	width   int       // requests that may run at once; 0 for as many as the endpoint takes
	number  int       // counts changes: an attempt that began before the last one tells nothing of the way back
	running int       // attempts under way
}

// ask begins a pause, or makes it longer.
func (p *pause) ask(until time.Time) {
	if until.After(p.until) {
		p.until = until
	}
	p.probe, p.width = true, 1
	p.number++
}

// over ends a pause because another node's probe worked: this node begins with one request as well.
func (p *pause) over() {
	if p.probe {
		p.until, p.probe = time.Time{}, false
		p.number++
	}
}

// worked widens the way after an attempt that worked, up to the concurrency of the endpoint. It reports whether that attempt was
// the probe.
func (p *pause) worked(number, most int) bool {
	if p.width == 0 || number != p.number {
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

// holds reports whether nothing may start.
func (p *pause) holds(now time.Time) bool { return now.Before(p.until) }

// full reports whether so many deliveries are all that may be held, each request taking up to each.
func (p *pause) full(held, each int) bool { return p.width > 0 && held >= p.room(each) }

// room bounds the deliveries that may be held on the way back.
func (p *pause) room(each int) int {
	if p.probe {
		return 1
	}
	return p.width * each
}

// begin counts an attempt that begins now, unless the pause of its lane forbids it. The number is for ended and mayWrite.
func (e *Engine) begin(l *lane, probe bool) (number int, ok bool) {
	now := e.cfg.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &l.pause
	if p.holds(now) || p.probe && !probe || p.width > 0 && p.running >= p.width {
		return 0, false
	}
	p.running++
	return p.number, true
}

// mayWrite reports whether an attempt that began may send its request: nothing asked for a pause since.
func (e *Engine) mayWrite(l *lane, number int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return l.pause.number == number && !e.closing.Load()
}

// gated has a way out ask mayWrite right before it sends: to connect, or to get a token, may have taken a while.
func (e *Engine) gated(ctx context.Context, l *lane, number int) context.Context {
	return outbound.WithGate(ctx, func() bool { return e.mayWrite(l, number) })
}

// ended heeds the answers of an attempt before the next one can begin. It reports whether the attempt was a probe that worked.
func (e *Engine) ended(l *lane, number int, results ...Result) (over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l.pause.running--
	until := askedFor(results)
	if !until.IsZero() {
		l.pause.ask(until)
		return false
	}
	r := results[0]
	return !r.Untried && !r.Uncounted && worked(r) && r.Attempt.StatusCode != 429 && l.pause.worked(number, cap(l.slots))
}

// askedFor is the latest time that results of one request name for the endpoint; zero when none does.
func askedFor(results []Result) (until time.Time) {
	for _, r := range results {
		if r.NotBefore.After(until) {
			until = r.NotBefore
		}
	}
	return until
}

// savePauses writes what a batch means for the waits of endpoints on their rows, and tells the other nodes.
func (e *Engine) savePauses(ctx context.Context, tx *store.Tx, batch []finished) error {
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
		if err := e.tellWait(ctx, tx, id, until.UnixMicro()); err != nil {
			return err
		}
	}
	for _, f := range batch {
		if !f.over || !waits[f.ep.ID].IsZero() {
			continue
		}
		ended, err := tx.EndWait(ctx, f.ep.ID, e.node)
		if err != nil {
			return err
		}
		if ended {
			if err := e.tellWait(ctx, tx, f.ep.ID, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitWord marks a notification of a wait: "<node> wait <endpoint> <microseconds since 1970, or 0 when it is over>".
const waitWord = "wait"

func (e *Engine) tellWait(ctx context.Context, tx *store.Tx, endpointID string, until int64) error {
	return tx.Notify(ctx, strings.Join([]string{e.node, waitWord, endpointID, strconv.FormatInt(until, 10)}, " "))
}

// hearWait heeds the wait that another node told of.
func (e *Engine) hearWait(endpointID, until string) {
	micros, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return
	}
	e.mu.Lock()
	if l := e.lanes[endpointID]; l != nil && micros > 0 {
		l.pause.ask(time.UnixMicro(micros))
	} else if l != nil {
		l.pause.over()
	}
	e.mu.Unlock()
	e.ready(map[string]struct{}{endpointID: {}})
}

// learn heeds a wait that stands on the endpoint's row, unless it is the time of this node's own probe.
func (l *lane) learn(w store.EndpointWait, node string) {
	if w.Until.IsZero() || w.ProbeOwner == node {
		return
	}
	if w.Until.After(l.pause.until) || !l.pause.probe {
		l.pause.ask(w.Until.Time)
	}
}

// heed is learn for a wait that kept the lane from claiming: when the row has none any more, another node's probe worked.
func (l *lane) heed(w store.EndpointWait, node string) {
	if w.Until.IsZero() {
		l.pause.over()
		return
	}
	l.learn(w, node)
}

// shortenWaits writes the waits of lanes on the rows of their endpoints, after the clock was set back.
func (e *Engine) shortenWaits(ctx context.Context) error {
	waits := make(map[string]time.Time)
	e.mu.Lock()
	for id, l := range e.lanes {
		if !l.pause.until.IsZero() {
			waits[id] = l.pause.until
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

// waits reads which endpoints wait, for a claim. On SQLite this node knows them.
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

// takeHeeding is take for a lane whose endpoint may wait. It claims nothing while the endpoint waits or another node tries it.
func (e *Engine) takeHeeding(ctx context.Context, tx *store.Tx, o order, waits map[string]store.EndpointWait) (load, error) {
	id := o.lane.endpoint.ID
	if w := waits[id]; !o.probe && !w.Until.IsZero() && w.ProbeOwner != e.node {
		return load{wait: &w}, nil
	}
	if !o.probe {
		return e.take(ctx, tx, o)
	}
	mine, w, err := tx.TakeProbe(ctx, id, e.node, store.At(tx.Now.Add(e.attemptTime(&o.lane.endpoint)+probeSlack)))
	if err != nil {
		return load{}, fmt.Errorf("take probe of endpoint: %w", err)
	}
	if !mine {
		return load{wait: &w}, nil
	}
	claims, err := e.take(ctx, tx, o)
	if err == nil && len(claims.singles)+len(claims.bundles) == 0 {
		err = tx.GiveProbeBack(ctx, id, e.node)
	}
	return claims, err
}

// probeSlack is how long beyond the time of an attempt a probe keeps the other nodes from trying.
const probeSlack = 5 * time.Second
