package amqp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/store"
)

// How often brokers are asked how long the messages of our queues live, and for how long an answer serves.
const (
	askQueues    = time.Minute
	askAgain     = 10 * time.Second // after a broker did not answer
	queuesForget = 24 * time.Hour
)

// mustLast reports whether messages in a queue of this role must never expire (AMQP-42, AMQP-124). Those of synchronous exchange must
// (AMQP-43).
func mustLast(role string) bool {
	return role == roleAsync || role == roleError || role == roleDead || role == roleEvent
}

// queueLoop asks brokers about our queues: at the start, when there are others than before, and now and then. It is apart from the
// sweep, which a broker that does not answer must not delay.
func (b *Bridge) queueLoop(ctx context.Context) {
	var next time.Time
	var asked map[queue]bool
	for {
		set := b.dir.Load().queueSet()
		if now := b.cfg.Now(); !now.Before(next) || next.Sub(now) > askQueues || !maps.Equal(set, asked) {
			err := b.lookAtQueues(ctx)
			b.warn(ctx, "how long messages live in queues is not known", err)
			asked, next = set, now.Add(askQueues)
			if err != nil {
				next = now.Add(askAgain)
			}
		}
		if !pause(ctx, b.cfg.Poll) {
			return
		}
	}
}

// lookAtQueues asks every broker in use how long the messages of our queues live, and keeps what it says (INC-22).
func (b *Bridge) lookAtQueues(ctx context.Context) error {
	var failed error
	for id, queues := range b.dir.Load().queues() {
		b.mu.Lock()
		at := b.brokers[id]
		b.mu.Unlock()
		if at == nil {
			continue
		}
		failed = errors.Join(failed, b.lookAtBroker(ctx, at, queues))
	}
	return failed
}

func (b *Bridge) lookAtBroker(ctx context.Context, at *broker, queues []queue) error {
	parties, names := map[string]string{}, []string{}
	for _, q := range queues {
		if mustLast(q.role) {
			parties[q.name], names = q.party, append(names, q.name)
		}
	}
	lives, err := at.conn.Lifetimes(ctx, names)
	if err != nil {
		return fmt.Errorf("broker %s: %w", at.row.Name, err)
	}
	rows := make([]store.AMQPQueue, 0, len(lives))
	for name, life := range lives {
		rows = append(rows, store.AMQPQueue{Name: name, PartyID: parties[name], Known: life.Known, TTLMS: life.TTL.Milliseconds(), ExpiresMS: life.Expires.Milliseconds()})
	}
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		return tx.SaveAMQPQueues(ctx, at.row.ID, rows, store.At(tx.Now.Add(-queuesForget)))
	})
}

// noteExpired notes that a dead letter expired in a queue whose messages must never expire: it has a time to live, whoever set it.
func (b *Bridge) noteExpired(ctx context.Context, tx *store.Tx, dead queue, d *link.Delivery) error {
	name := expiredIn(d)
	for _, q := range b.dir.Load().queues()[dead.broker] {
		if q.name == name && q.party == dead.party && mustLast(q.role) {
			return tx.AMQPExpired(ctx, q.broker, q.party, q.name)
		}
	}
	return nil
}

// expiredIn gives the queue in which a dead letter expired; "" when it did not.
func expiredIn(d *link.Delivery) string {
	if reason, _ := d.Message.ApplicationProperties[deadLetterReason].(string); reason == "TTLExpiredException" {
		return store.AMQPParentQueue(d.Queue)
	}
	if reason, _ := d.Message.Annotations[rabbitDeathReason].(string); reason == "expired" {
		name, _ := d.Message.Annotations[rabbitDeathQueue].(string)
		return name
	}
	return ""
}

// notifyLosing notifies the administrators of queues whose messages expire.
func (b *Bridge) notifyLosing(ctx context.Context) error {
	return b.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		queues, err := tx.TakeAMQPLosing(ctx)
		if err != nil || len(queues) == 0 {
			return err
		}
		n := Notice{Kind: NoticeExpiry}
		for _, q := range queues {
			group := NoticeGroup{Queue: q.Name, Detail: LossText(q, tx.Now.Time)}
			if p := b.dir.Load().parties[q.PartyID]; p != nil {
				group.Own = p.Name
			}
			b.cfg.Log.WarnContext(ctx, "messages in a queue expire", "queue", q.Name, "broker", q.BrokerID, "ttl", time.Duration(q.TTLMS)*time.Millisecond, "expires", time.Duration(q.ExpiresMS)*time.Millisecond)
			n.Groups = append(n.Groups, group)
		}
		return b.cfg.Notify(ctx, tx, n)
	})
}

// LossText describes how the messages of a queue expire, for people; "" when they do not, as far as is known.
func LossText(q store.AMQPQueue, now time.Time) string {
	switch {
	case q.TTLMS > 0:
		return fmt.Sprintf("its messages expire after %s", time.Duration(q.TTLMS)*time.Millisecond)
	case q.ExpiresMS > 0:
		return fmt.Sprintf("the broker removes it, with its messages, when nobody reads it for %s", time.Duration(q.ExpiresMS)*time.Millisecond)
	case q.Loses(now):
		return "a message expired in it: a time to live is set, by a policy of the broker or by the sender"
	}
	return ""
}
