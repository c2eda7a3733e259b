package faults

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"schakel/server/trial"
)

// amqpKills sets how often TestAMQPKill kills something; a broker takes seconds to start, so that the default is less than what
// was tried once: -args -amqp-kills 200.
var amqpKills = flag.Int("amqp-kills", 40, "how often TestAMQPKill kills a program or the broker")

// mostOpen bounds the messages under way before more are published.
const mostOpen = 200

// TestAMQPKill kills two programs and the broker between them, one after the other and at random moments, while both publish
// business messages. Afterwards every message that was answered 202 became one event at the other side, and was acknowledged
// by one AppRec at both.
//
// Rules: AMQP-07, AMQP-08, AMQP-10, AMQP-82, AMQP-86, AMQP-105, AMQP-114, AMQP-115, AMQP-116, AMQP-121, AMQP-123, AMQP-138, AMQP-139
func TestAMQPKill(t *testing.T) {
	t.Parallel()
	e := newExchange(t, straight)
	all := e.Correspondents(2, 15*time.Millisecond)
	for n := range *amqpKills {
		e.awaitBacklog(t)
		stop := trial.Correspondence(t, all...)
		trial.Pause(time.Duration(50+rand.IntN(250)) * time.Millisecond)
		if n%3 == 1 { // while messages and answers are under way alone
			stop()
			trial.Pause(time.Duration(rand.IntN(100)) * time.Millisecond)
		}
		switch {
		case n%10 == 1 || n%10 == 4 || n%10 == 7: // seldom, for it takes the longest to start
			e.broker.Kill9(t)
			stop()
			e.broker.Restart(t)
		case n%2 == 0:
			restart(t, e.A.Program, stop)
		default:
			restart(t, e.B.Program, stop)
		}
		if t.Failed() {
			return
		}
	}
	e.settled(t)
}

// restart kills a program while others publish, and starts it again.
func restart(t *testing.T, p *trial.Program, stop func()) {
	t.Helper()
	p.Kill(t)
	stop()
	p.Start(t)
}

// awaitBacklog waits until most of what was published has arrived.
func (e *exchange) awaitBacklog(t *testing.T) {
	t.Helper()
	trial.Eventually(t, "most messages arrive", func() (bool, string) {
		open := e.A.Ledger.Len() + e.B.Ledger.Len() - e.Receiver.TakenAt(e.A.Inbox) - e.Receiver.TakenAt(e.B.Inbox)
		return open < mostOpen, ""
	})
}
