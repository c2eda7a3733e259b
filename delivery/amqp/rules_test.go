package amqp_test

import (
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/pkitest"
	"schakel/store"
)

// TestMessageIDs looks at everything that we write: each messageId is a UUID that nothing else has, and none is that of the business
// message in it.
//
// Rules: AMQP-18, AMQP-126
func TestMessageIDs(t *testing.T) {
	t.Parallel()
	const many = 10
	a := simple(t)
	business := map[string]bool{}
	for range many {
		msgID := uuid.NewString()
		business[msgID] = true
		a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
		_, came := a.from(t, a.peer) // gets an AppRec
		business[came] = true
		send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString())) // gets an error
	}
	seen := map[string]bool{}
	for _, m := range append(take(t, a.wire, a.peer.Async, 2*many), take(t, a.wire, a.peer.Error, many)...) {
		id, ok := m.Properties.MessageID.(string)
		if _, err := uuid.Parse(id); !ok || err != nil || !message.IsUUID(id) || seen[id] || business[id] {
			t.Errorf("messageId %T %v", m.Properties.MessageID, m.Properties.MessageID)
		}
		seen[id] = true
	}
}

// TestSendingWaitsForRevocation has the sources of revocation away while a message is to be sent: it is not written and not held, and
// is tried again until a source answers. It is written once then, under the messageId that it had.
//
// Rules: AMQP-60, AMQP-61, AMQP-115
func TestSendingWaitsForRevocation(t *testing.T) {
	t.Parallel()
	a := simple(t, impatient)
	a.pki.SetOCSP(pkitest.Down)
	a.pki.SetCRL(pkitest.Down)
	msgID := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, msgID))
	waits := a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPUnsent)
	a.b.eventually("it was tried again", func() (bool, string) {
		m, err := a.b.db.AMQPMessage(t.Context(), waits.ID)
		return err == nil && m.Attempts >= 3 && m.Status == store.AMQPUnsent, a.b.all()
	})
	list, _, err := a.b.db.Deliveries(t.Context(), store.DeliveryFilter{})
	if err != nil || len(list) != 1 || list[0].Status == store.DeliveryHeld || list[0].Status == store.DeliveryDead {
		t.Errorf("deliveries %+v, %v", list, err)
	}
	if n := a.broker.Depth(t, a.peer.Async); n != 0 {
		t.Errorf("%d messages were written", n)
	}
	a.pki.SetOCSP(pkitest.Good)
	a.b.message(store.AMQPOut, store.AMQPBusiness, msgID, store.AMQPOpenMessage)
	if got := take(t, a.wire, a.peer.Async, 1)[0]; got.Properties.MessageID != waits.MessageID {
		t.Errorf("messageId %v, want %s", got.Properties.MessageID, waits.MessageID)
	}
}
