package amqp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/store"
	"schakel/store/storetest"
)

// TestEveryMessageIsInANotice has a message come while the administrators are notified: after the groups were listed, and before
// those of its own were marked. It is in the notice, and none is marked that is in no notice.
//
// Rules: AMQP-49, AMQP-53
func TestEveryMessageIsInANotice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		other := map[string]string{amqp.NoticeDead: store.AMQPQuarantined, amqp.NoticeQuarantined: store.AMQPDead}
		var a *alone
		insert := func(tx *store.Tx, status string) error {
			id := uuid.NewString()
			return tx.InsertAMQPMessage(t.Context(), &store.AMQPMessage{
				Direction: store.AMQPIn, Kind: store.AMQPBusiness, Status: status, OwnPartyID: a.b.own.ID, Her: 555, MessageID: id, MsgID: id, Queue: "q", Encoded: []byte{1},
			})
		}
		notices := make(chan amqp.Notice, 100)
		first := true
		a = newAlone(t, db, brokertest.Start(t, brokertest.RabbitMQ4), func(c *amqp.Config) {
			c.Notify = func(_ context.Context, tx *store.Tx, n amqp.Notice) error {
				if status, ours := other[n.Kind]; ours && first {
					first = false
					if err := insert(tx, status); err != nil {
						return err
					}
				}
				notices <- n
				return nil
			}
		})
		a.b.write(func(tx *store.Tx) error {
			return errors.Join(insert(tx, store.AMQPDead), insert(tx, store.AMQPQuarantined))
		})
		a.b.eventually("all are marked", func() (bool, string) {
			rows, n, err := db.AMQPMessages(t.Context(), store.AMQPFilter{HerID: 555})
			for _, m := range rows {
				if m.NotifiedAt.IsZero() {
					return false, a.b.all()
				}
			}
			return err == nil && n == 3, a.b.all()
		})
		counted := 0
		for range len(notices) {
			counted += (<-notices).Groups[0].Count
		}
		if counted != 3 {
			t.Errorf("%d of 3 messages are in a notice", counted)
		}
	})
}
