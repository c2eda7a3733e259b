package brokertest_test

import (
	"testing"

	"schakel/delivery/amqp/brokertest"
)

// A node of each version starts, makes the queues of a party, is killed, and has them
// when it is back.
func TestNodes(t *testing.T) {
	t.Parallel()
	for _, v := range brokertest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := brokertest.StartOwn(t, v, nil)
			p := b.NewParty(t)
			b.AwaitDepth(t, p.Async, 0)
			b.Kill9(t)
			b.Restart(t)
			if got := len(b.Queues(t)); got != 4 {
				t.Errorf("the node has %d queues after it was killed, want 4", got)
			}
		})
	}
}
