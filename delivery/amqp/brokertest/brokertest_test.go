package brokertest_test

import (
	"testing"

	"schakel/delivery/amqp/brokertest"
)

// A node of each version starts, makes the queues of a party, is killed, and has those
// that must not lose a message when it is back. RabbitMQ has been seen to lose a classic
// queue, as the sync queue is, that was declared right before the kill.
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
			b.AwaitQueues(t, p.Async, p.Error, p.DeadLetter)
		})
	}
}
