package faults

import (
	"math/rand/v2"
	"testing"
	"time"

	"schakel/server/trial"
	"schakel/store/storetest"
)

// TestNodeKilled has two nodes share a PostgreSQL and kills one after the other
// while it holds deliveries. The other one takes them over when the lease is over,
// while it goes on with its own; nothing is lost, and what must come in order does.
//
// Rules: EDU-09
func TestNodeKilled(t *testing.T) {
	t.Parallel()
	database := storetest.PostgresURL(t)
	c := newChain(t, database)
	other := c.second(t, database)
	for _, p := range c.senders[:len(c.senders)/2] {
		p.Program = other
	}
	c.Start(t)
	other.Start(t)
	nodes := []*trial.Program{c.Program, other}
	for n := range 6 {
		stop := c.publish(t)
		c.taken(t, 40)
		trial.Pause(time.Duration(rand.IntN(100)) * time.Millisecond)
		dead := nodes[n%2]
		dead.Kill(t)
		c.taken(t, 40) // by the other
		stop()
		c.Drain(t) // by the other alone
		dead.Start(t)
	}
	other.Stop(t)
	c.settle(t)
}

// replaced is a list of arguments in which a flag has another value.
func replaced(args []string, flag, value string) []string {
	out := append([]string(nil), args...)
	for i := range out {
		if out[i] == flag {
			out[i+1] = value
		}
	}
	return out
}
