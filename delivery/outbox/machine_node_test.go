package outbox

import (
	"log/slog"
	"time"

	"schakel/store"
)

// node is an engine whose loops stand still: the test takes their steps.
type node struct {
	eng    *Engine
	out    []sendResult              // what its senders are done with and is not written yet
	queues map[string]*endpointQueue // all there ever were, by endpoint
	slots  map[string]int            // taken by the test, so that senders wait before they begin
}

func (m *machine) newNode() *node {
	n := &node{queues: map[string]*endpointQueue{}, slots: map[string]int{}, eng: New(Config{
		DB: m.db, Now: m.clock.Now, Log: slog.New(slog.DiscardHandler), KeyLifetime: keyLife, MaxInFlight: 16, MaxBatch: 16,
		Transports: map[string]Transport{store.EndpointWebhook: m.transport}, Circuit: CircuitPolicy{Failures: 4},
	})}
	m.ever[n.eng.node] = true
	_, err := n.eng.prepare(m.ctx)
	m.must(err)
	return n
}

// drop makes a node disappear as a crash does: nothing of what it holds is written.
func (m *machine) drop(n *node) {
	n.eng.closing.Store(true)
	m.transport.release(func(a *attempt) bool { return a.owner == n.eng.node }, "crash")
	for id := range n.slots {
		m.letBegin(n, id)
	}
	n.eng.senders.Wait()
}

func (m *machine) crash(n *node) {
	m.drop(n)
	for i := range m.nodes {
		if m.nodes[i] == n {
			m.nodes[i] = m.newNode()
		}
	}
}

// stall keeps senders of an endpoint queue from beginning, when none of them is at it.
func (m *machine) stall(n *node, endpoint string) bool {
	q := n.queues[endpoint]
	if q == nil || n.slots[endpoint] > 0 || len(q.slots) > 0 {
		return false
	}
	for range cap(q.slots) {
		q.slots <- struct{}{}
	}
	n.slots[endpoint] = cap(q.slots)
	return true
}

func (m *machine) letBegin(n *node, endpoint string) {
	for range n.slots[endpoint] {
		<-n.queues[endpoint].slots
	}
	delete(n.slots, endpoint)
}

// pump does what the dispatcher does when it is woken, and waits until its senders have got as far as they get.
func (m *machine) pump(n *node) {
	m.must(n.eng.refreshQueues(m.ctx))
	m.must(n.eng.claimDue(m.ctx))
	m.quiet(n)
}

// poll is pump after a while.
func (m *machine) poll(n *node) {
	n.eng.readyAll()
	m.pump(n)
}

// flush writes back up to most of what senders are done with.
func (m *machine) flush(n *node, most int) {
	m.quiet(n)
	var batch []sendResult
	for len(n.out) > 0 && most > 0 {
		batch, n.out, most = n.out[0].appendTo(batch), n.out[1:], most-1
	}
	if len(batch) == 0 {
		return
	}
	if m.db.Dialect() == store.Postgres {
		n.eng.complete(m.ctx, batch)
	} else if !n.eng.writeAll(m.ctx, nil, batch) {
		m.Fatal("outcomes were not written")
	}
}

// quiet waits until every sender of a node is done, or waits for an answer or for its turn.
func (m *machine) quiet(n *node) {
	for !m.still(n) {
		select {
		case f := <-n.eng.outcomes:
			n.out = append(n.out, f)
		case <-m.transport.entered:
		case <-time.After(time.Minute):
			m.Fatalf("senders of %s are not done", n.eng.node)
		}
	}
	m.transport.check(m)
}

func (m *machine) still(n *node) bool {
	held := n.held()
	for _, f := range n.out {
		for _, one := range f.appendTo(nil) {
			if !one.inRun {
				held[one.ep.ID]--
			}
		}
	}
	requests := map[string]int{}
	for _, a := range m.transport.waiting() {
		if a.owner == n.eng.node {
			requests[a.endpoint]++
			held[a.endpoint] -= a.members
		}
	}
	for id, left := range held {
		if left > 0 && n.slots[id] == 0 && requests[id] < cap(n.queues[id].slots) {
			return false
		}
	}
	return true
}

// held counts the places that each queue of a node has taken; a run takes one.
func (n *node) held() map[string]int {
	n.eng.mu.Lock()
	defer n.eng.mu.Unlock()
	held := map[string]int{}
	for id, q := range n.eng.queues {
		n.queues[id] = q
	}
	for id, q := range n.queues {
		held[id] = q.held
	}
	return held
}
