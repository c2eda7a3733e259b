package outbox

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
)

// BatchWay is a way out that takes several events in one request. SendBatch answers a result for each member; the batch
// is tried again as it is, unless a result is Alone.
type BatchWay interface {
	Way
	SendBatch(ctx context.Context, endpoint store.Endpoint, b store.Batch, body []byte, members []store.Claimed) []Result
}

// sendBundle makes one attempt with a batch and hands over the outcomes of its members, which are written together.
func (e *Engine) sendBundle(task errand) {
	l, ep, b := task.lane, task.ep, task.bundle
	defer e.senders.Done()
	defer l.done.Add(int64(len(b.members)))
	task.slots <- struct{}{}
	defer func() { <-task.slots }()
	ctx, cancel := context.WithTimeout(e.sending, e.attemptTime(ep))
	defer cancel()
	may := func() (bool, error) { return e.cfg.DB.MayStartAll(ctx, b.members) }
	way, ok := e.cfg.Ways[ep.Kind].(BatchWay)
	group := allUntried(l, ep, b)
	if ok && e.mayBegin(ctx, l, ep, &b.members[0], task.epoch, may) && !b.expired(store.At(e.cfg.Now())) {
		if number, ok := e.begin(l, task.probe); ok {
			results := way.SendBatch(e.gated(ctx, l, number), *ep, b.batch, b.body, b.members)
			over := e.ended(l, number, results...)
			if !results[0].Untried {
				group = e.outcomesOf(l, ep, b, results)
				group[0].over = over
			}
		}
	}
	e.outcomes <- finished{group: group}
}

// expired reports whether the event of a member has expired. Then the batch is taken apart when it is claimed again.
func (b *bundle) expired(now store.Time) bool {
	return slices.ContainsFunc(b.members, func(c store.Claimed) bool { return c.Expired(now) })
}

func allUntried(l *lane, ep *store.Endpoint, b *bundle) []finished {
	group := make([]finished, len(b.members))
	for i := range b.members {
		group[i] = untried(l, ep, &b.members[i])
	}
	return group
}

// outcomesOf makes the outcomes of the members of one request. It counts once for the endpoint.
func (e *Engine) outcomesOf(l *lane, ep *store.Endpoint, b *bundle, results []Result) []finished {
	group := allUntried(l, ep, b)
	for i := range group {
		r := &results[i]
		r.Attempt.BatchID = b.batch.ID
		if i > 0 {
			r.Uncounted, r.SuspendEndpoint, r.Unasked = true, false, false
		}
		group[i].result, group[i].outcome = r, e.outcome(&b.members[i], r)
	}
	if reason := dissolves(results); reason != "" {
		group[0].dissolve, group[0].why = &b.batch, reason
	}
	return group
}

// dissolves tells why a batch cannot be tried again as it is; "" when it can, or need not.
func dissolves(results []Result) string {
	open := 0
	for _, r := range results {
		switch {
		case r.Alone:
			return store.BatchRejected
		case r.Status == store.DeliveryRetrying:
			open++
		}
	}
	if open > 0 && open < len(results) {
		return store.BatchBroken // the time of some of them is over
	}
	return ""
}

// takeApart does what dissolves told, after the outcomes are written. A member that was claimed again meanwhile is left to that
// claim.
func (e *Engine) takeApart(ctx context.Context, tx *store.Tx, f finished, newKey func() string) error {
	if f.dissolve == nil {
		return nil
	}
	return tx.DissolveBatch(ctx, *f.dissolve, "", f.why, newKey)
}

// SendBatch implements BatchWay: it posts the events as one batch and judges the answer by the table of CE-74.
func (w *Webhook) SendBatch(ctx context.Context, ep store.Endpoint, b store.Batch, body []byte, members []store.Claimed) []Result {
	target, err := w.target(ep)
	if err != nil {
		results := make([]Result, len(members))
		for i := range results {
			results[i] = w.broken(ep, brokenSecret)
		}
		return results
	}
	out := w.Sender.SendBatch(ctx, target, body, b.IdempotencyKey)
	return w.batchResults(ep, members, out, w.scheduleAfter(ctx, members[0], out))
}

// batchResults judges what one request with these members came to.
func (w *Webhook) batchResults(ep store.Endpoint, members []store.Claimed, out webhook.Outcome, schedule webhook.Schedule) []Result {
	results := make([]Result, len(members))
	jitter := rand.Float64() // one for all, so that they stay together
	for i, c := range members {
		r := w.result(ep, c, out, schedule, func() float64 { return jitter })
		if refusesContent(out) {
			r.Alone, r.Status, r.Reason, r.DueAt = true, store.DeliveryRetrying, webhook.ReasonBatchRejected, w.Now()
			r.Detail = "The receiver answered " + strconv.Itoa(out.Status) + " to a batch of " + strconv.Itoa(len(members)) +
				" events. Each of them is sent by itself now, so that one does not hold up the others."
		}
		if i > 0 {
			r.Attempt = lean(r.Attempt)
		}
		results[i] = r
	}
	return results
}

// refusesContent tells answers that only other content can change: one event of the batch may be the cause.
func refusesContent(out webhook.Outcome) bool {
	switch out.Status {
	case 400, 413, 415, 422:
		return true
	}
	return false
}

// lean leaves out what stands with the first member's attempt: it was one request.
func lean(a store.Attempt) store.Attempt {
	return store.Attempt{
		StartedAt: a.StartedAt, DurationUS: a.DurationUS, StatusCode: a.StatusCode, ErrorKind: a.ErrorKind, Error: a.Error,
	}
}

// fillLook bounds how often a lane looks whether enough waits to fill a batch.
const fillLook = 250 * time.Millisecond

// fillAll asks fill for the orders whose lanes fill their batches, and tells when to look again at those that wait.
func (e *Engine) fillAll(ctx context.Context, orders []order) ([]time.Time, error) {
	looks := make([]time.Time, len(orders))
	for i := range orders {
		o := &orders[i]
		if !o.terms.on() || o.terms.wait <= 0 || o.tests {
			continue
		}
		room, look, err := e.fill(ctx, o.lane.endpoint.ID, o.terms, o.room)
		if err != nil {
			return nil, err
		}
		if o.again, looks[i] = room == 0, look; room > 0 {
			o.room = room
		}
	}
	return looks, nil
}

// fill tells how many of what was never sent may be claimed for a lane that fills its batches, of room: what fills whole
// batches, or all when the first of it has waited as long as it may. When it is none it tells when to look again, unless
// nothing waits.
func (e *Engine) fill(ctx context.Context, endpointID string, t terms, room int) (int, time.Time, error) {
	now := e.cfg.Now()
	n, since, err := e.cfg.DB.Fresh(ctx, endpointID, room, store.At(now))
	if err != nil || n == 0 {
		return 0, time.Time{}, err
	}
	until := since.Add(t.wait)
	if !now.Before(until) {
		return room, time.Time{}, nil
	}
	if n >= t.events {
		return n / t.events * t.events, time.Time{}, nil
	}
	look := now.Add(min(t.wait/8, fillLook))
	if until.Before(look) {
		look = until
	}
	return 0, look, nil
}
