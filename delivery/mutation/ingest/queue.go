package ingest

import (
	"context"
	"sync"
)

// How much waits for the database, and how much it gets in one transaction: little enough that nobody waits long for it.
const (
	queueBytes = 4 << 20
	batchBytes = 1 << 20
	batchCount = 300 // mutations
)

// queue is groups between who reads them and who writes them. Who writes takes all there is, so that a fast source has large
// transactions, and of a slow one nothing waits.
type queue struct {
	mu     sync.Mutex
	change *sync.Cond
	groups []*group
	bytes  int
	ended  bool  // nothing more comes
	err    error // why
	over   bool  // nothing more is taken
}

func newQueue() *queue {
	q := &queue{}
	q.change = sync.NewCond(&q.mu)
	return q
}

// put adds a group, and reports whether more is taken. It waits while there is much.
func (q *queue) put(g *group) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > queueBytes && !q.over {
		q.change.Wait()
	}
	q.groups, q.bytes = append(q.groups, g), q.bytes+g.size
	q.change.Broadcast()
	return !q.over
}

// end says that nothing more comes, and why: nil after the whole of the source.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.err = true, err
	q.change.Broadcast()
}

// stop says that nothing more is taken.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.change.Broadcast()
}

// take waits for groups and takes as many as one transaction should have. last is true with the last ones, of which there may
// be none; err is why nothing follows.
func (q *queue) take(ctx context.Context) (batch []*group, last bool, err error) {
	defer context.AfterFunc(ctx, func() { q.mu.Lock(); q.change.Broadcast(); q.mu.Unlock() })()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.groups) == 0 && !q.ended && ctx.Err() == nil {
		q.change.Wait()
	}
	if ctx.Err() != nil {
		return nil, true, ctx.Err()
	}
	n, mutations, bytes := 0, 0, 0
	for n < len(q.groups) && (n == 0 || mutations+len(q.groups[n].mutations) <= batchCount && bytes+q.groups[n].size <= batchBytes) {
		mutations, bytes = mutations+len(q.groups[n].mutations), bytes+q.groups[n].size
		n++
	}
	batch = q.groups[:n:n]
	q.groups, q.bytes = q.groups[n:], q.bytes-bytes
	q.change.Broadcast()
	if q.ended && len(q.groups) == 0 {
		return batch, true, q.err
	}
	return batch, false, nil
}
