package outbox

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/templates/i18n"
)

// BatchTransport is a transport that takes several events in one request. SendBatch returns a result for each member; the
// batch is retried unchanged, unless a result is Alone.
type BatchTransport interface {
	Transport
	SendBatch(ctx context.Context, endpoint store.Endpoint, b store.Batch, body []byte, members []store.Claimed) []Result
}

// sendBatch makes one attempt with a batch and hands over the outcomes of its members, which are written together.
func (e *Engine) sendBatch(task sendTask) {
	q, ep, b := task.queue, task.ep, task.batch
	defer e.senders.Done()
	defer q.requests.Add(-1)
	defer q.done.Add(int64(len(b.members)))
	task.slots <- struct{}{}
	defer func() { <-task.slots }()
	ctx, cancel := context.WithTimeout(e.sending, e.attemptTime(ep))
	defer cancel()
	may := func() (bool, error) {
		ok, err := e.cfg.DB.MayStartAll(ctx, b.members)
		return ok && e.sameEncryption(ctx, pointers(b.members)...), err
	}
	way, ok := e.cfg.Transports[ep.Kind].(BatchTransport)
	group := allUntried(q, ep, b)
	if ok && e.mayBegin(ctx, q, ep, &b.members[0], task.epoch, may) && !b.expired(store.At(e.cfg.Now())) {
		if number, ok := e.begin(q, task.probe); ok {
			span := e.span(ep, pointers(b.members)...)
			results := way.SendBatch(span.With(e.gated(ctx, q, number)), *ep, b.batch, b.body, b.members)
			endSpan(span, &results[0])
			over := e.ended(q, number, results...)
			if !results[0].Untried {
				group = e.outcomesOf(q, ep, b, results)
				group[0].probeWorked = over
			}
		}
	}
	e.outcomes <- sendResult{group: group}
}

// expired reports whether the event of a member has expired. Then the batch is dissolved when it is claimed again.
func (b *frozenBatch) expired(now store.Time) bool {
	return slices.ContainsFunc(b.members, func(c store.Claimed) bool { return c.Expired(now) })
}

func allUntried(q *endpointQueue, ep *store.Endpoint, b *frozenBatch) []sendResult {
	group := make([]sendResult, len(b.members))
	for i := range b.members {
		group[i] = untried(q, ep, &b.members[i])
	}
	return group
}

// outcomesOf makes the outcomes of the members of one request. The request counts once for the endpoint.
func (e *Engine) outcomesOf(q *endpointQueue, ep *store.Endpoint, b *frozenBatch, results []Result) []sendResult {
	group := allUntried(q, ep, b)
	for i := range group {
		r := &results[i]
		r.Attempt.BatchID = b.batch.ID
		if i > 0 {
			r.Uncounted, r.SuspendEndpoint, r.Unasked = true, false, false
		}
		group[i].result, group[i].outcome = r, e.outcome(&b.members[i], r)
	}
	group[0].outcome.Attempt.DataKeys = dataKeys(b.members)
	if reason := dissolveReason(results); reason != "" {
		group[0].dissolve, group[0].dissolveReason = &b.batch, reason
	}
	return group
}

// dissolveReason returns why a batch cannot be retried unchanged; "" when it can, or need not.
func dissolveReason(results []Result) string {
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
		return store.BatchBroken // some of them are past their retry schedule
	}
	return ""
}

// dissolve dissolves the batch of an outcome, if it must be, after the outcomes are written. It leaves a member that was
// claimed again meanwhile to that claim.
func (e *Engine) dissolve(ctx context.Context, tx *store.Tx, f sendResult, newKey func() string) error {
	if f.dissolve == nil {
		return nil
	}
	return tx.DissolveBatch(ctx, *f.dissolve, "", f.dissolveReason, newKey)
}

// SendBatch implements BatchTransport: it posts the events as one batch and judges the answer by the table of CE-74.
func (w *Webhook) SendBatch(ctx context.Context, ep store.Endpoint, b store.Batch, body []byte, members []store.Claimed) []Result {
	target, err := w.target(ep)
	if err != nil {
		results := make([]Result, len(members))
		for i := range results {
			results[i] = w.broken(ep, brokenSecret)
		}
		return results
	}
	if slices.ContainsFunc(members, func(c store.Claimed) bool { return c.Encryption != nil }) {
		if body, err = w.encryptBatch(ctx, members); err != nil {
			return w.batchNotEncrypted(ctx, ep, members, err)
		}
	}
	out := w.Sender.SendBatch(ctx, target, body, b.IdempotencyKey)
	return w.batchResults(ep, members, out, w.scheduleAfter(ctx, members[0], out))
}

func pointers(members []store.Claimed) []*store.Claimed {
	list := make([]*store.Claimed, len(members))
	for i := range members {
		list[i] = &members[i]
	}
	return list
}

// batchResults judges the outcome of one request for each of its members.
func (w *Webhook) batchResults(ep store.Endpoint, members []store.Claimed, out webhook.Outcome, schedule webhook.Schedule) []Result {
	results := make([]Result, len(members))
	jitter := rand.Float64() // #nosec G404 -- one for all, so that they stay together; nobody is harmed by who guesses it
	for i, c := range members {
		r := w.result(ep, c, out, schedule, func() float64 { return jitter })
		if contentRejected(out) {
			r.Alone, r.Status, r.Reason, r.DueAt = true, store.DeliveryRetrying, webhook.ReasonBatchRejected, w.Now()
			r.Detail = i18n.M("verdict.batch-rejected", out.Status, len(members))
		}
		if i > 0 {
			r.Attempt = lean(r.Attempt)
		}
		results[i] = r
	}
	return results
}

// contentRejected reports whether only other content can change the answer: one event of the batch may be the cause.
func contentRejected(out webhook.Outcome) bool {
	switch out.Status {
	case 400, 413, 415, 422:
		return true
	}
	return false
}

// lean leaves out what the first member's attempt records already: it was one request.
func lean(a store.Attempt) store.Attempt {
	return store.Attempt{
		StartedAt: a.StartedAt, DurationUS: a.DurationUS, StatusCode: a.StatusCode, ErrorKind: a.ErrorKind, Error: a.Error,
	}
}

// fillPoll bounds the time between two checks whether enough waits to fill a batch.
const fillPoll = 250 * time.Millisecond

// fillAll calls fill for the requests whose queues fill their batches, and returns when to check again those that wait.
func (e *Engine) fillAll(ctx context.Context, requests []claimRequest) ([]time.Time, error) {
	looks := make([]time.Time, len(requests))
	for i := range requests {
		r := &requests[i]
		if !r.terms.on() || r.terms.wait <= 0 || r.tests {
			continue
		}
		room, look, err := e.fill(ctx, r.queue.endpoint.ID, r.terms, r.room)
		if err != nil {
			return nil, err
		}
		if r.retriesOnly, looks[i] = room == 0, look; room > 0 {
			r.room = room
		}
	}
	return looks, nil
}

// fill returns how many of at most room fresh deliveries may be claimed for an endpoint that fills its batches: enough for
// whole batches, or all once the first has waited its time. With none it returns when to check again, unless nothing waits.
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
	look := now.Add(min(t.wait/8, fillPoll))
	if until.Before(look) {
		look = until
	}
	return 0, look, nil
}
