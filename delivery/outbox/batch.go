package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/event"
	"schakel/store"
)

// terms are how an endpoint takes batches (EDU-11); zero events is one by one.
type terms struct {
	events, bytes int
	wait          time.Duration // how long a batch may wait to be filled
}

func termsOf(e store.Endpoint) terms {
	if e.BatchEvents < 2 {
		return terms{}
	}
	t := terms{events: int(e.BatchEvents), bytes: int(e.BatchBytes), wait: time.Duration(e.BatchWaitMS) * time.Millisecond}
	setDefault(&t.bytes, store.DefaultBatchBytes)
	return t
}

func (t terms) on() bool { return t.events > 1 }

// bundle is a batch with all that is needed to send it.
type bundle struct {
	batch   store.Batch
	members []store.Claimed
	body    []byte // always the same for the same members
}

// load is what was claimed for a lane: what goes by itself and what goes together.
type load struct {
	claimed int // rows, for the lane to know whether there may be more
	singles []*store.Claimed
	after   map[string][]*store.Claimed // what follows a single in its run, by the id of that
	bundles []*bundle
	again   bool                // some of it was put back and is due
	ordered bool                // some of it has a key
	wait    *store.EndpointWait // in place of all else: the endpoint waits
}

// take claims for a lane. What it puts in batches is frozen in the same transaction, before anything is sent.
func (e *Engine) take(ctx context.Context, tx *store.Tx, o order) (load, error) {
	ep, lease := o.lane.endpoint, e.lease(tx.Now.Time, &o.lane.endpoint)
	claim := tx.Claim
	switch {
	case o.tests:
		claim = tx.ClaimTests
	case o.again:
		claim = tx.ClaimAgain
	}
	rows, err := claim(ctx, ep.ID, e.node, o.room, lease)
	if err != nil {
		return load{}, err
	}
	s := sorting{e: e, tx: tx, terms: o.terms, endpoint: ep, lease: lease, load: load{claimed: len(rows)}}
	s.load.ordered = slices.ContainsFunc(rows, func(c store.Claimed) bool { return c.OrderKey != "" })
	if s.load.ordered && o.behind > 0 && !o.again {
		behind, err := tx.ClaimBehind(ctx, rows, e.node, o.each, o.behind, lease)
		if err != nil {
			return load{}, err
		}
		rows = append(rows, behind...)
		slices.SortFunc(rows, func(a, b store.Claimed) int { return strings.Compare(a.ID, b.ID) })
	}
	e.setRetries(rows)
	if err := s.all(ctx, rows); err != nil {
		return load{}, err
	}
	return s.load, nil
}

// setRetries fills in how subscriptions that say so themselves are retried.
func (e *Engine) setRetries(rows []store.Claimed) {
	known := e.retries.Load()
	if known == nil || len(*known) == 0 {
		return
	}
	for i := range rows {
		rows[i].Retry = (*known)[rows[i].SubscriptionID]
	}
}

// retryOf is how a subscription that says so itself is retried.
func (e *Engine) retryOf(subscriptionID string) string {
	if known := e.retries.Load(); known != nil {
		return (*known)[subscriptionID]
	}
	return ""
}

// sorting puts claimed deliveries into batches.
type sorting struct {
	e        *Engine
	tx       *store.Tx
	terms    terms
	endpoint store.Endpoint
	lease    store.Time
	load     load
	queues   queues
	// unwritten: the deliveries are not in the database yet and are written in this transaction.
	unwritten bool
}

func (s *sorting) all(ctx context.Context, rows []store.Claimed) error {
	var old []string
	members := make(map[string][]string) // of old batches, those claimed
	fresh := make(map[string][]store.Claimed)
	var schedules []string
	for i := range rows {
		c := &rows[i]
		switch {
		case c.Behind && !s.follows(c):
			s.queues.giveBack(c)
		case c.BatchID != "":
			s.queues.begin(c, elsewhere)
			if members[c.BatchID] == nil {
				old = append(old, c.BatchID)
			}
			members[c.BatchID] = append(members[c.BatchID], c.ID)
		case !s.terms.on() || c.Alone || c.Round > 0 || c.SubscriptionID == "":
			s.single(c)
		default:
			s.queues.begin(c, inBatch)
			// All of a batch are retried by one schedule.
			if fresh[c.Retry] == nil {
				schedules = append(schedules, c.Retry)
			}
			fresh[c.Retry] = append(fresh[c.Retry], *c)
		}
	}
	for _, id := range old {
		if err := s.again(ctx, id, members[id]); err != nil {
			return err
		}
	}
	for _, schedule := range schedules {
		if err := s.group(ctx, fresh[schedule]); err != nil {
			return err
		}
	}
	return s.tx.Unclaim(ctx, s.queues.back)
}

// again takes up a batch that was sent, or was about to be, when some of its members are due. It goes as it was, or not at all.
func (s *sorting) again(ctx context.Context, id string, claimed []string) error {
	batch, err := s.tx.Batch(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		batch, err = store.Batch{ID: id, Members: claimed}, nil
	} else if err == nil && batch.Reason == "" && s.terms.on() {
		var members []store.Claimed
		members, err = s.tx.ClaimMembers(ctx, batch, s.e.node, s.lease)
		if errors.Is(err, store.ErrBusy) {
			// The other node got a part of it at the same moment: both let go, and one of them comes first next time.
			pause := 100*time.Millisecond + rand.N(time.Second)
			return s.tx.PutBack(ctx, claimed, s.e.node, store.At(s.tx.Now.Add(pause)))
		}
		if err == nil && members != nil {
			s.e.setRetries(members)
			if body, ok := encode(members); ok {
				s.load.bundles = append(s.load.bundles, &bundle{batch, members, body})
				return nil
			}
		}
	}
	if err != nil {
		return err
	}
	s.load.again = true
	return s.tx.DissolveBatch(ctx, batch, s.e.node, store.BatchBroken, uuid.NewString)
}

// group makes batches of deliveries that were never sent, in their order, and freezes them.
func (s *sorting) group(ctx context.Context, rows []store.Claimed) error {
	next := newBundle(s.endpoint)
	flush := func() error {
		err := s.freeze(ctx, next)
		s.queues.closeOf(next.members)
		next = newBundle(s.endpoint)
		return err
	}
	for i := range rows {
		c := &rows[i]
		if s.queues.closed(c) {
			s.queues.giveBack(c)
			continue
		}
		before := len(next.body)
		body, ok := appendEvent(next.body, c)
		if !ok {
			s.load.singles = append(s.load.singles, c) // where it is told why it cannot be sent
			s.queues.close(c)
			continue
		}
		if len(body)+1 > s.terms.bytes && len(next.members) > 0 {
			if err := flush(); err != nil {
				return err
			}
			body = append(next.body, body[before+1:]...) // without the comma
		}
		next.body, next.members = body, append(next.members, *c)
		if len(next.members) == s.terms.events || len(body)+1 > s.terms.bytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func newBundle(ep store.Endpoint) *bundle {
	return &bundle{batch: store.Batch{EndpointID: ep.ID}, body: []byte{'['}}
}

// freeze writes a batch. An event left alone needs none, and stays alone: it may arrive now, so it must not go with others
// under another key later. The key of a batch lives as long as the first of its members' would.
func (s *sorting) freeze(ctx context.Context, b *bundle) error {
	if len(b.members) < 2 {
		for i := range b.members {
			b.members[i].Alone = true
			s.load.singles = append(s.load.singles, &b.members[i])
		}
		if len(b.members) == 0 || s.unwritten {
			return nil
		}
		return s.tx.SetAlone(ctx, []string{b.members[0].ID})
	}
	b.body = append(b.body, ']')
	b.batch.IdempotencyKey, b.batch.Size = uuid.NewString(), int64(len(b.body))
	b.batch.Members = make(store.Strings, len(b.members))
	for i, c := range b.members {
		b.batch.Members[i] = c.ID
		if expires := c.KeyExpiresAt; i == 0 || expires.Before(b.batch.KeyExpiresAt.Time) {
			b.batch.KeyExpiresAt = expires
		}
	}
	freeze := s.tx.FreezeBatch
	if s.unwritten {
		freeze = s.tx.InsertBatch
	}
	if err := freeze(ctx, &b.batch); err != nil {
		return err
	}
	for i := range b.members {
		c := &b.members[i]
		c.BatchID, c.IdempotencyKey, c.KeyExpiresAt = b.batch.ID, b.batch.IdempotencyKey, b.batch.KeyExpiresAt
	}
	s.load.bundles = append(s.load.bundles, b)
	return nil
}

// encode makes the body of a batch of stored events: their bytes as they are, so the same ones every time.
func encode(members []store.Claimed) ([]byte, bool) {
	size := 2
	for i := range members {
		size += len(members[i].Event.Attributes) + len(members[i].Event.Data) + 64
	}
	body := append(make([]byte, 0, size), '[')
	for i := range members {
		var ok bool
		if body, ok = appendEvent(body, &members[i]); !ok {
			return nil, false
		}
	}
	return append(body, ']'), true
}

// appendEvent adds an event to the body of a batch.
func appendEvent(body []byte, c *store.Claimed) ([]byte, bool) {
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil {
		return body, false
	}
	if len(body) > 1 {
		body = append(body, ',')
	}
	return ev.AppendJSON(body), true
}
