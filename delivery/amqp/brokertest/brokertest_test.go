package brokertest_test

import (
	"context"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/brokertest"
)

// A node of each version starts, makes the queues of a party, is killed, and has those that must not lose a message when it is
// back. RabbitMQ has been seen to lose a classic queue, as the sync queue is, that was declared right before the kill.
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

// TestOutcomeBeforeTheEnd has a scripted broker read an outcome and the end of the connection at once: the outcome counts.
func TestOutcomeBeforeTheEnd(t *testing.T) {
	t.Parallel()
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"queue": brokertest.Accept})
	conn, session := begin(t, b)
	put(t, session, "1")
	from, m := first(t, session, "queue")
	b.Stall(t, func() {
		if err := from.RejectMessage(t.Context(), m, &goamqp.Error{Condition: "test:unreadable"}); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	})
	_, session = begin(t, b)
	if _, m = first(t, session, "queue/$DeadLetterQueue"); m.Properties.MessageID != "1" {
		t.Errorf("another dead letter: %v", m.Properties)
	}
	put(t, session, "2")
	if _, m = first(t, session, "queue"); m.Properties.MessageID != "2" {
		t.Error("what was rejected went back to its queue too")
	}
}

func begin(t *testing.T, b *brokertest.Scripted) (*goamqp.Conn, *goamqp.Session) {
	t.Helper()
	conn, err := goamqp.Dial(t.Context(), b.URL, &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(brokertest.User, brokertest.Password)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	session, err := conn.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, session
}

// put sends a message to the queue.
func put(t *testing.T, session *goamqp.Session, id string) {
	t.Helper()
	sender, err := session.NewSender(t.Context(), "queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.Send(t.Context(), &goamqp.Message{Properties: &goamqp.MessageProperties{MessageID: id}, Data: [][]byte{{}}}, nil); err != nil {
		t.Fatal(err)
	}
}

func first(t *testing.T, session *goamqp.Session, queue string) (*goamqp.Receiver, *goamqp.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	receiver, err := session.NewReceiver(ctx, queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := receiver.Receive(ctx, nil)
	if err != nil {
		t.Fatalf("queue %s: %v", queue, err)
	}
	return receiver, m
}
