package outbox

import (
	"log/slog"
	"time"

	"schakel/store"
)

// node is an engine whose loops stand still: the test takes their steps.
type node struct {
	eng   *Engine
	out   []finished       // what its senders are done with and is not written yet
	lanes map[string]*lane // all there ever were, by endpoint
	slots map[string]int   // taken by the test, so that senders wait before they begin
}

func (m *machine) newNode() *node {
	n := &node{lanes: map[string]*lane{}, slots: map[string]int{}, eng: New(Config{
		DB: m.db, Now: m.clock.Now, Log: slog.New(slog.DiscardHandler), KeyLifetime: keyLife, MaxInFlight: 16, MaxBatch: 16,
		Ways: map[string]Way{store.EndpointWebhook: m.way}, Circuit: CircuitPolicy{Failures: 4},
	})}
	m.ever[n.eng.node] = true
	_, err := n.eng.prepare(m.ctx)
	m.must(err)
	return n
}

// drop makes a node disappear as a crash does: nothing of what it holds is written.
func (m *machine) drop(n *node) {
	n.eng.closing.Store(true)
	m.way.release(func(a *attempt) bool { return a.owner == n.eng.node }, "crash")
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

// stall keeps senders of a lane from beginning, when none of them is at it.
func (m *machine) stall(n *node, endpoint string) bool {
	l := n.lanes[endpoint]
	if l == nil || n.slots[endpoint] > 0 || len(l.slots) > 0 {
		return false
	}
	for range cap(l.slots) {
		l.slots <- struct{}{}
	}
	n.slots[endpoint] = cap(l.slots)
	return true
}

func (m *machine) letBegin(n *node, endpoint string) {
	for range n.slots[endpoint] {
		<-n.lanes[endpoint].slots
	}
	delete(n.slots, endpoint)
}

// pump does what the dispatcher does when it is woken, and waits until its senders have got as far as they get.
func (m *machine) pump(n *node) {
	m.must(n.eng.refreshLanes(m.ctx))
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
	var batch []finished
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
		case <-m.way.entered:
		case <-time.After(time.Minute):
			m.Fatalf("senders of %s are not done", n.eng.node)
		}
	}
	m.way.check(m)
}

func (m *machine) still(n *node) bool {
	held := n.held()
	for _, f := range n.out {
		for _, one := range f.appendTo(nil) {
			if !one.within {
				held[one.ep.ID]--
			}
		}
	}
	requests := map[string]int{}
	for _, a := range m.way.waiting() {
		if a.owner == n.eng.node {
			requests[a.endpoint]++
			held[a.endpoint] -= a.members
		}
	}
	for id, left := range held {
		if left > 0 && n.slots[id] == 0 && requests[id] < cap(n.lanes[id].slots) {
			return false
		}
	}
	return true
}

// held counts the places that each lane of a node has taken; a run takes one.
func (n *node) held() map[string]int {
	n.eng.mu.Lock()
	defer n.eng.mu.Unlock()
	held := map[string]int{}
	for id, l := range n.eng.lanes {
		n.lanes[id] = l
	}
	for id, l := range n.lanes {
		held[id] = l.held
	}
	return held
}
