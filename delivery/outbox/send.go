package outbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"schakel/store"
)

// sendResult is a claimed delivery that its sender has finished with; without an outcome it was not tried.
type sendResult struct {
	queue       *endpointQueue
	lease       store.Lease
	outcome     *store.Outcome
	result      *Result
	ep          *store.Endpoint
	subID       string
	ordered     bool // others may wait for it
	inRun       bool // its run goes on, and keeps its place in the endpoint queue
	probeWorked bool // it was the probe that ends the backoff of the endpoint
	// group, when set, holds the members of a batch in place of all else.
	group []sendResult
	// dissolve is a batch to dissolve after this, and why.
	dissolve       *store.Batch
	dissolveReason string
}

func (e *Engine) send(task sendTask) {
	defer e.senders.Done()
	defer task.queue.requests.Add(-1)
	task.slots <- struct{}{}
	defer func() { <-task.slots }()
	if len(task.followers) > 0 {
		e.sendRun(task)
		return
	}
	e.outcomes <- e.attempt(&task, task.single)
}

// attempt makes one attempt at a claimed delivery of a send task.
func (e *Engine) attempt(task *sendTask, c *store.Claimed) sendResult {
	q, ep := task.queue, task.ep
	ctx, cancel := context.WithTimeout(e.sending, e.attemptTime(ep))
	defer cancel()
	done := untried(q, ep, c)
	if c.Event.Unread != nil {
		result := e.unread(ep, c)
		done.result, done.outcome = &result, e.outcome(c, &result)
		q.done.Add(1)
		return done
	}
	may := func() (bool, error) {
		ok, err := e.cfg.DB.MayStart(ctx, store.LeaseOf(&c.Delivery), task.single.ID)
		return ok && e.sameEncryption(ctx, c), err
	}
	if e.mayBegin(ctx, q, ep, c, task.epoch, may) && !c.Expired(store.At(e.cfg.Now())) {
		if number, ok := e.begin(q, task.probe); ok {
			span := e.span(ep, c)
			result := e.cfg.Transports[ep.Kind].Send(span.With(e.gated(ctx, q, number)), *ep, *c)
			endSpan(span, &result)
			done.probeWorked = e.ended(q, number, result)
			if !result.Untried {
				done.result, done.outcome = &result, e.outcome(c, &result)
			}
		}
	}
	q.done.Add(1)
	return done
}

func untried(q *endpointQueue, ep *store.Endpoint, c *store.Claimed) sendResult {
	return sendResult{queue: q, lease: store.LeaseOf(&c.Delivery), result: new(Result), ep: ep, subID: c.SubscriptionID, ordered: c.OrderKey != ""}
}

// attemptTime bounds an attempt in all: the request and a token before it.
func (e *Engine) attemptTime(ep *store.Endpoint) time.Duration {
	return 2 * time.Duration(ep.TimeoutMS) * time.Millisecond
}

// mayBegin checks for the last time before an attempt: the node is not stopping, the endpoint works and accepts requests now,
// there is time left in the lease and the key is valid (IDEM-12), and, if anything changed since the claim, the delivery is
// still ours and allowed, which may reports (guarantee G2), and the endpoint the same.
func (e *Engine) mayBegin(ctx context.Context, q *endpointQueue, ep *store.Endpoint, c *store.Claimed, epoch string, may func() (bool, error)) bool {
	now := e.cfg.Now()
	e.mu.Lock()
	limiter, paused, closed := q.limiter, q.backoff.active(now), c.SubscriptionID != "" && q.closed(now)
	open := q.circuit.open() && now.Before(q.circuit.probeAt)
	e.mu.Unlock()
	if e.closing.Load() || closed || open || paused || now.Add(e.attemptTime(ep)).After(c.DueAt.Time) || !now.Before(c.KeyExpiresAt.Time) {
		return false
	}
	if limiter != nil {
		if err := limiter.Wait(ctx); err != nil {
			return false
		}
	}
	current, err := e.fanout.currentEpoch(ctx, e.cfg.DB, e.cfg.Now)
	hold, sure := e.claimsHold()
	if err != nil || !hold {
		return false
	}
	if current == epoch && sure {
		return true
	}
	ok, err := may()
	return err == nil && ok && e.sameEndpoint(ctx, ep)
}

// sameEndpoint reports whether an endpoint is as it was when its queue was read: nothing goes to an address that its partner
// changed (EDU-07a). What is not tried for that reason is claimed again, for the new one.
func (e *Engine) sameEndpoint(ctx context.Context, ep *store.Endpoint) bool {
	now, err := e.cfg.DB.Endpoint(ctx, ep.ID)
	return err == nil && now.ConfigVersion == ep.ConfigVersion
}

// sameEncryption reports whether the subscriptions of deliveries encrypt as they did when they were claimed: nothing leaves in clear, or for a
// key that is not wanted any more, because it was claimed a moment earlier. What is not tried for that reason is claimed again.
func (e *Engine) sameEncryption(ctx context.Context, list ...*store.Claimed) bool {
	for i, c := range list {
		if c.SubscriptionID == "" { // a test, which is sent by itself
			if !e.sameTestEncryption(ctx, c) {
				return false
			}
			continue
		}
		if i > 0 && list[i-1].SubscriptionID == c.SubscriptionID { // #nosec G602 -- of the first none is before it
			continue
		}
		seed, err := e.cfg.DB.EncryptSeed(ctx, c.SubscriptionID)
		if err != nil || c.Encryption == nil && seed != "" || c.Encryption != nil && seed != c.Encryption.Seed {
			return false
		}
	}
	return true
}

func (e *Engine) sameTestEncryption(ctx context.Context, c *store.Claimed) bool {
	known, err := e.cfg.DB.Sendings(ctx)
	if err != nil {
		return false
	}
	now := known[c.EndpointID].ForTest(c.EventType)
	return now == nil && c.Encryption == nil || now != nil && c.Encryption != nil && now.Seed == c.Encryption.Seed
}

func (e *Engine) outcome(c *store.Claimed, r *Result) *store.Outcome {
	a := r.Attempt
	a.DeliveryID, a.Number, a.NextAt, a.DataKeys = c.ID, c.Attempts+1, store.At(r.DueAt), c.Event.DataKeys
	return &store.Outcome{
		Attempt: a,
		Lease:   store.LeaseOf(&c.Delivery),
		Delivery: store.Delivery{
			ID: c.ID, SubscriptionID: c.SubscriptionID, EndpointID: c.EndpointID, OrderKey: c.OrderKey, Status: r.Status, Reason: r.Reason, Detail: string(r.Detail), DueAt: store.At(r.DueAt), LastStatus: a.StatusCode,
			CreatedAt: c.CreatedAt, PartnerID: c.PartnerID, EventType: c.EventType, Cause: causeOf(r),
		},
	}
}

// freshness holds the newest epoch a node saw and when it saw it.
type freshness struct {
	mu    sync.Mutex
	epoch string
	seen  time.Time
}

// epochAge bounds the time for which senders share one reading of the epoch. A change made by this process ends it at once.
const epochAge = 2 * time.Millisecond

func (f *fanout) currentEpoch(ctx context.Context, db *store.DB, clock func() time.Time) (string, error) {
	f.fresh.mu.Lock()
	defer f.fresh.mu.Unlock()
	if now := clock(); f.fresh.epoch == "" || now.Sub(f.fresh.seen).Abs() > epochAge { // also when the clock was set back
		epoch, err := db.FanoutEpoch(ctx)
		if err != nil {
			return "", err
		}
		f.fresh.epoch, f.fresh.seen = epoch, now
	}
	return f.fresh.epoch, nil
}

func (f *fanout) invalidate() {
	f.fresh.mu.Lock()
	f.fresh.epoch = ""
	f.fresh.mu.Unlock()
}

// sendTask is a claimed delivery, a run or a batch for a sender.
type sendTask struct {
	queue     *endpointQueue
	ep        *store.Endpoint
	slots     chan struct{}
	single    *store.Claimed
	followers []*store.Claimed // the rest of a run
	batch     *frozenBatch     // in place of single
	epoch     string
	probe     bool // the single request after a backoff of the endpoint
}

// senderPool holds idle senders that wait for another send task. A new goroutine would grow its stack again for each request,
// which costs as much as encoding the event.
type senderPool struct {
	tasks   chan sendTask
	stopped chan struct{} // closed when the engine stops
	once    sync.Once
	idle    atomic.Int64
}

const maxIdle = 128

func newSenderPool() *senderPool {
	return &senderPool{tasks: make(chan sendTask), stopped: make(chan struct{})}
}

func (c *senderPool) stop() { c.once.Do(func() { close(c.stopped) }) }

// dispatch gives a send task to an idle sender, or to a new one. It does not block. An engine that was not started has no pool.
func (e *Engine) dispatch(task sendTask) {
	e.senders.Add(1)
	task.queue.requests.Add(1)
	if e.pool != nil {
		select {
		case e.pool.tasks <- task:
			return
		default:
		}
	}
	go e.runSender(task)
}

// runSender sends one task after another, until the pool has no use for it.
func (e *Engine) runSender(task sendTask) {
	for ok := true; ok; task, ok = e.pool.next() {
		if task.batch != nil {
			e.sendBatch(task)
		} else {
			e.send(task)
		}
	}
}

// next waits for another send task; none comes when enough senders are idle already, or the engine stops.
func (c *senderPool) next() (task sendTask, ok bool) {
	if c == nil {
		return sendTask{}, false
	}
	defer c.idle.Add(-1)
	if c.idle.Add(1) > maxIdle {
		return sendTask{}, false
	}
	select {
	case task = <-c.tasks:
		return task, true
	case <-c.stopped:
		return sendTask{}, false
	}
}
