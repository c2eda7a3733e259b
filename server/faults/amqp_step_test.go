package faults

import (
	"slices"
	"testing"
	"time"

	"schakel/server/trial"
	"schakel/store"
)

// step is a place on the way of a business message and its AppRec.
type step struct {
	frame
	who    int  // whose wire: 0 is the sender, 1 the receiver of the message
	passed bool // whether the frame arrives before somebody is killed
}

// steps are all frames that a message and its AppRec cause, in their order.
func steps() []step {
	message := []frame{
		{"message to the broker", true, transferFrame},
		{"outcome from the broker", false, dispositionFrame},
	}
	reading := []frame{
		{"message from the broker", false, transferFrame},
		{"settlement to the broker", true, dispositionFrame},
	}
	var all []step
	for _, f := range message {
		all = append(all, step{f, 0, false})
	}
	all = append(all, step{reading[0], 1, false})
	for _, f := range message { // the AppRec
		all = append(all, step{f, 1, false})
	}
	all = append(all, step{reading[1], 1, false})
	for _, f := range reading {
		all = append(all, step{f, 0, false})
	}
	return all
}

// TestAMQPEveryStep kills the program, or the broker, at every frame that a message and its AppRec cause: once before the
// frame has arrived and once when it just has. Afterwards each message was handled once and acknowledged once.
//
// Rules: AMQP-10, AMQP-82, AMQP-86, AMQP-105, AMQP-121, AMQP-123, AMQP-138, AMQP-139
func TestAMQPEveryStep(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		who  []int
		kill func(e *exchange, t *testing.T, wires [2]*wire, s step, id string)
	}{
		"program":                  {[]int{0, 1}, (*exchange).killProgram},
		"broker while one sends":   {[]int{0}, (*exchange).killBroker},
		"broker while one answers": {[]int{1}, (*exchange).killBroker},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wires [2]*wire
			e := newExchange(t, func(n int, url string) (own string) {
				wires[n], own = newWire(t, url)
				return own
			})
			for _, s := range steps() {
				for _, s.passed = range []bool{false, true} {
					if slices.Contains(tc.who, s.who) {
						tc.kill(e, t, wires, s, e.sendUntil(t, wires, s))
					}
				}
			}
			e.settled(t)
		})
	}
}

// killProgram kills the program whose wire has stopped.
func (e *exchange) killProgram(t *testing.T, wires [2]*wire, s step, _ string) {
	t.Helper()
	m := e.Members()[s.who]
	m.Kill(t)
	wires[s.who].cut()
	m.Start(t)
}

// killBroker kills the broker, and waits until the message has its AppRec all the same.
func (e *exchange) killBroker(t *testing.T, wires [2]*wire, _ step, id string) {
	t.Helper()
	e.broker.Kill9(t)
	wires[0].cut()
	wires[1].cut()
	e.broker.Restart(t)
	e.acknowledged(t, id)
	e.refresh(t)
}

// sendUntil has a message go from one to the other until a step is reached, and gives its MsgId.
func (e *exchange) sendUntil(t *testing.T, wires [2]*wire, s step) (id string) {
	t.Helper()
	reached := wires[s.who].arm(s.frame, s.passed)
	id = e.publish(t, trial.TypeMessageSent, trial.SubjectMessage)
	e.A.Ledger.Add([]string{id})
	s.await(t, reached)
	return id
}

// acknowledged waits until a message of A has its AppRec.
func (e *exchange) acknowledged(t *testing.T, id string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for e.A.MessageState(t, id) != store.AMQPAcknowledged {
		if time.Now().After(deadline) {
			t.Fatalf("message %s is %s", id, e.A.MessageState(t, id))
		}
		trial.Pause(50 * time.Millisecond)
	}
}

// refresh starts both programs anew: each loss of the broker makes them wait longer before they connect again, until a
// connection has held for a minute.
func (e *exchange) refresh(t *testing.T) {
	t.Helper()
	for _, m := range e.Members() {
		m.Kill(t)
		m.Start(t)
	}
}
