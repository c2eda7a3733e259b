package outbox

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/registry/sorted"
	"schakel/store"
)

// terms hold how an endpoint takes batches (EDU-11); with zero events it takes single events only.
type terms struct {
	events, bytes int
	wait          time.Duration // longest wait for a batch to fill
}

func termsOf(e store.Endpoint) terms {
	if e.BatchEvents < 2 {
		return terms{}
	}
	return terms{
		events: int(e.BatchEvents), bytes: cmp.Or(int(e.BatchBytes), store.DefaultBatchBytes), wait: time.Duration(e.BatchWaitMS) * time.Millisecond,
	}
}

func (t terms) on() bool { return t.events > 1 }

// frozenBatch is a batch with all that is needed to send it.
type frozenBatch struct {
	batch   store.Batch
	members []store.Claimed
	body    []byte // the same bytes at every attempt; data is not encrypted in it yet
	growth  int    // at most so many bytes are added when it is
}

// claimedWork holds what was claimed for an endpoint queue: single deliveries, runs and batches.
type claimedWork struct {
	rows      int // claimed rows; as many as asked for means that there may be more
	singles   []*store.Claimed
	followers map[string][]*store.Claimed // the rest of a run, by the id of the single that it follows
	batches   []*frozenBatch
	dissolved bool                // a batch was dissolved and its members are due
	ordered   bool                // a delivery has an order key
	wait      *store.EndpointWait // set instead of all else: the endpoint waits
}

// claimQueue claims for an endpoint queue. It freezes the batches in the same transaction, before anything is sent.
func (e *Engine) claimQueue(ctx context.Context, tx *store.Tx, r claimRequest) (claimedWork, error) {
	ep, lease := r.queue.endpoint, e.lease(tx.Now.Time, &r.queue.endpoint)
	claim := tx.Claim
	switch {
	case r.tests:
		claim = tx.ClaimTests
	case r.retriesOnly:
		claim = tx.ClaimAgain
	}
	rows, err := claim(ctx, ep.ID, e.node, r.room, lease)
	if err != nil {
		return claimedWork{}, err
	}
	s := batcher{e: e, tx: tx, terms: r.terms, endpoint: ep, lease: lease, work: claimedWork{rows: len(rows)}}
	s.work.ordered = slices.ContainsFunc(rows, func(c store.Claimed) bool { return c.OrderKey != "" })
	if s.work.ordered && r.behind > 0 && !r.retriesOnly {
		behind, err := tx.ClaimBehind(ctx, rows, e.node, r.each, r.behind, lease)
		if err != nil {
			return claimedWork{}, err
		}
		rows = append(rows, behind...)
		sorted.By(rows, func(a, b store.Claimed) int { return strings.Compare(a.ID, b.ID) })
	}
	e.setSending(rows)
	if err := s.all(ctx, rows); err != nil {
		return claimedWork{}, err
	}
	return s.work, nil
}

// setSending fills in the settings that subscriptions have of their own for how they are sent.
func (e *Engine) setSending(rows []store.Claimed) {
	known := e.sendings.Load()
	if known == nil || len(*known) == 0 {
		return
	}
	for i := range rows {
		applySending(&rows[i], *known)
	}
}

// applySending does so for one delivery. A test, which is of no subscription, is encrypted as a real event of its type would be.
func applySending(c *store.Claimed, known map[string]store.Sending) {
	if c.SubscriptionID == "" {
		c.Encryption = known[c.EndpointID].ForTest(c.EventType)
		return
	}
	s := known[c.SubscriptionID]
	c.Retry, c.Encryption = s.Retry, s.Encryption
}

// batcher puts claimed deliveries into batches.
type batcher struct {
	e        *Engine
	tx       *store.Tx
	terms    terms
	endpoint store.Endpoint
	lease    store.Time
	work     claimedWork
	keys     keyQueues
	// unwritten means that the deliveries are not in the database yet; this transaction writes them, and their batches.
	unwritten bool
}

func (s *batcher) all(ctx context.Context, rows []store.Claimed) error {
	var old []string
	members := make(map[string][]string) // of frozen batches, those claimed
	fresh := make(map[string][]store.Claimed)
	var schedules []string
	for i := range rows {
		c := &rows[i]
		switch {
		case c.Behind && !s.follows(c):
			s.keys.giveBack(c)
		case c.BatchID != "":
			s.keys.begin(c, elsewhere)
			if members[c.BatchID] == nil {
				old = append(old, c.BatchID)
			}
			members[c.BatchID] = append(members[c.BatchID], c.ID)
		case !s.terms.on() || c.Alone || c.Round > 0 || c.SubscriptionID == "":
			s.single(c)
		default:
			s.keys.begin(c, inBatch)
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
	return s.tx.Unclaim(ctx, s.keys.back)
}

// again takes up a frozen batch when some of its members are due. It is sent unchanged, or dissolved.
func (s *batcher) again(ctx context.Context, id string, claimed []string) error {
	batch, err := s.tx.Batch(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		batch, err = store.Batch{ID: id, Members: claimed}, nil
	} else if err == nil && batch.Reason == "" && s.terms.on() {
		var members []store.Claimed
		members, err = s.tx.ClaimMembers(ctx, batch, s.e.node, s.lease)
		if errors.Is(err, store.ErrBusy) {
			// The other node got a part of it at the same moment: both release, and one of them comes first next time.
			pause := 100*time.Millisecond + rand.N(time.Second) // #nosec G404 -- spreads waits, nobody is harmed by who guesses it
			return s.tx.PutBack(ctx, claimed, s.e.node, store.At(s.tx.Now.Add(pause)))
		}
		if err == nil && members != nil {
			s.e.setSending(members)
			if body, ok := encode(members); ok {
				s.work.batches = append(s.work.batches, &frozenBatch{batch: batch, members: members, body: body})
				return nil
			}
		}
	}
	if err != nil {
		return err
	}
	s.work.dissolved = true
	return s.tx.DissolveBatch(ctx, batch, s.e.node, store.BatchBroken, uuid.NewString)
}

// group makes batches of deliveries that were never sent, in their order, and freezes them.
func (s *batcher) group(ctx context.Context, rows []store.Claimed) error {
	next := newFrozenBatch(s.endpoint)
	flush := func() error {
		err := s.freeze(ctx, next)
		s.keys.closeOf(next.members)
		next = newFrozenBatch(s.endpoint)
		return err
	}
	for i := range rows {
		c := &rows[i]
		if s.keys.closed(c) {
			s.keys.giveBack(c)
			continue
		}
		before := len(next.body)
		body, ok := appendEvent(next.body, c)
		if !ok {
			s.work.singles = append(s.work.singles, c) // send reports why it cannot be sent
			s.keys.close(c)
			continue
		}
		if len(body)+next.growth+growth(c)+1 > s.terms.bytes && len(next.members) > 0 {
			if err := flush(); err != nil {
				return err
			}
			body = append(next.body, body[before+1:]...) // without the comma
		}
		next.body, next.members, next.growth = body, append(next.members, *c), next.growth+growth(c)
		if len(next.members) == s.terms.events || len(body)+next.growth+1 > s.terms.bytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// growth bounds the bytes that the encryption of its data adds to an event.
func growth(c *store.Claimed) int {
	if c.Encryption == nil {
		return 0
	}
	return jwe.Size(len(c.Event.Data)) - len(c.Event.Data)
}

func newFrozenBatch(ep store.Endpoint) *frozenBatch {
	return &frozenBatch{batch: store.Batch{EndpointID: ep.ID}, body: []byte{'['}}
}

// freeze writes a batch. A single event needs none, and stays alone: it may arrive now, so it must not go with others under
// another key later. The key of a batch expires with the first of its members' keys.
func (s *batcher) freeze(ctx context.Context, b *frozenBatch) error {
	if len(b.members) < 2 {
		for i := range b.members {
			b.members[i].Alone = true
			s.work.singles = append(s.work.singles, &b.members[i])
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
	if s.unwritten {
		s.tx.NewBatch(&b.batch)
	} else if err := s.tx.FreezeBatch(ctx, &b.batch); err != nil {
		return err
	}
	for i := range b.members {
		c := &b.members[i]
		c.BatchID, c.IdempotencyKey, c.KeyExpiresAt = b.batch.ID, b.batch.IdempotencyKey, b.batch.KeyExpiresAt
	}
	s.work.batches = append(s.work.batches, b)
	return nil
}

// encode makes the body of a batch from the stored bytes of its events, so that it is the same every time.
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

func appendEvent(body []byte, c *store.Claimed) ([]byte, bool) {
	ev, err := event.FromParts(c.Event.Attributes, event.DataKind(c.Event.DataKind), c.Event.Data)
	if err != nil || c.Event.Unread != nil {
		return body, false
	}
	if len(body) > 1 {
		body = append(body, ',')
	}
	return ev.AppendJSON(body), true
}
