package outbox

import (
	"context"
	"sync"
	"time"

	"schakel/store"
)

// finished is a claimed delivery that its sender is done with; without an outcome it was not tried.
type finished struct {
	lane    *lane
	lease   store.Lease
	outcome *store.Outcome
	result  *Result
	ep      *store.Endpoint
	subID   string
	ordered bool // others may wait for it
	// group, when set, is the members of a batch in place of all else.
	group []finished
	// dissolve is a batch that is taken apart after this, and why.
	dissolve *store.Batch
	why      string
}

// send makes one attempt at a claimed delivery and hands over its outcome.
func (e *Engine) send(l *lane, ep *store.Endpoint, slots chan struct{}, c *store.Claimed, epoch string) {
	defer e.senders.Done()
	slots <- struct{}{}
	defer func() { <-slots }()
	ctx, cancel := context.WithTimeout(context.Background(), e.attemptTime(ep))
	defer cancel()
	done := untried(l, ep, c)
	may := func() (bool, error) { return e.cfg.DB.MayStart(ctx, store.LeaseOf(&c.Delivery)) }
	if e.mayBegin(ctx, l, ep, c, epoch, may) {
		result := e.cfg.Ways[ep.Kind].Send(ctx, *ep, *c)
		done.result, done.outcome = &result, e.outcome(c, &result)
	}
	l.done.Add(1)
	e.outcomes <- done
}

// untried is a claimed delivery that was not tried.
func untried(l *lane, ep *store.Endpoint, c *store.Claimed) finished {
	return finished{lane: l, lease: store.LeaseOf(&c.Delivery), result: new(Result), ep: ep, subID: c.SubscriptionID, ordered: c.OrderKey != ""}
}

// attemptTime is the time an attempt may take in all: the request and a token before it.
func (e *Engine) attemptTime(ep *store.Endpoint) time.Duration {
	return 2 * time.Duration(ep.TimeoutMS) * time.Millisecond
}

// mayBegin asks for the last time before an attempt: is the node not stopping, does the endpoint work and want to hear from us,
// is there time left in the lease and does the key live (IDEM-12), and, if anything changed since it was claimed, is the delivery still ours and allowed,
// which may tells (guarantee G2), and the endpoint the same.
func (e *Engine) mayBegin(ctx context.Context, l *lane, ep *store.Endpoint, c *store.Claimed, epoch string, may func() (bool, error)) bool {
	now := e.cfg.Now()
	e.mu.Lock()
	limiter, notBefore, closed := l.limiter, l.notBefore, c.SubscriptionID != "" && l.closed(now)
	open := l.circuit.open() && now.Before(l.circuit.probeAt)
	e.mu.Unlock()
	if e.closing.Load() || closed || open || now.Before(notBefore) || now.Add(e.attemptTime(ep)).After(c.DueAt.Time) || !now.Before(c.KeyExpiresAt.Time) {
		return false
	}
	if limiter != nil {
		if err := limiter.Wait(ctx); err != nil {
			return false
		}
	}
	current, err := e.fanout.currentEpoch(ctx, e.cfg.DB)
	if err != nil {
		return false
	}
	if current == epoch {
		return true
	}
	ok, err := may()
	return err == nil && ok && e.sameEndpoint(ctx, ep)
}

// sameEndpoint tells whether an endpoint is as it was when its lane was read: nothing goes to an address that its partner
// changed (EDU-07a). What is not tried for that reason is claimed again, for the new one.
func (e *Engine) sameEndpoint(ctx context.Context, ep *store.Endpoint) bool {
	now, err := e.cfg.DB.Endpoint(ctx, ep.ID)
	return err == nil && now.ConfigVersion == ep.ConfigVersion
}

func (e *Engine) outcome(c *store.Claimed, r *Result) *store.Outcome {
	a := r.Attempt
	a.DeliveryID, a.Number, a.NextAt = c.ID, c.Attempts+1, store.At(r.DueAt)
	return &store.Outcome{
		Attempt: a,
		Lease:   store.LeaseOf(&c.Delivery),
		Delivery: store.Delivery{
			ID: c.ID, Status: r.Status, Reason: r.Reason, Detail: r.Detail, DueAt: store.At(r.DueAt), LastStatus: a.StatusCode,
		},
	}
}

// freshness is the newest epoch a node saw and when it saw it.
type freshness struct {
	mu    sync.Mutex
	epoch string
	until time.Time
}

// epochAge is how long senders share one reading of the epoch. A change made by this process ends it at once.
const epochAge = 2 * time.Millisecond

func (f *fanout) currentEpoch(ctx context.Context, db *store.DB) (string, error) {
	f.fresh.mu.Lock()
	defer f.fresh.mu.Unlock()
	if now := time.Now(); f.fresh.epoch == "" || now.After(f.fresh.until) {
		epoch, err := db.FanoutEpoch(ctx)
		if err != nil {
			return "", err
		}
		f.fresh.epoch, f.fresh.until = epoch, now.Add(epochAge)
	}
	return f.fresh.epoch, nil
}

func (f *fanout) invalidate() {
	f.fresh.mu.Lock()
	f.fresh.epoch = ""
	f.fresh.mu.Unlock()
}
