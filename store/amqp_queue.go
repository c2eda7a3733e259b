package store

import (
	"context"
	"strings"
	"time"
)

// AMQPQueueName gives the queue of a registered id such as "host/namespace/8141703_async": what follows the last slash (INC-26). A
// queue below another, whose name begins with "$", is named with the one it is below, as 8141703_async/$DeadLetterQueue of Azure
// Service Bus (AMQP-50). A bare name is given as it is.
func AMQPQueueName(id string) string {
	end := len(id)
	for {
		slash := strings.LastIndexByte(id[:end], '/')
		if slash < 0 || id[slash+1:end] == "" || id[slash+1] != '$' {
			return id[slash+1:]
		}
		end = slash
	}
}

// AMQPParentQueue gives the queue that a queue such as 8141703_async/$DeadLetterQueue is below; "" for one that is below none.
func AMQPParentQueue(id string) string {
	name := AMQPQueueName(id)
	if parent, _, below := strings.Cut(name, "/$"); below {
		return parent
	}
	return ""
}

// AMQPExpiryShown is for how long after a message expired in a queue the queue counts as one whose messages expire.
const AMQPExpiryShown = 7 * 24 * time.Hour

// AMQPQueue holds the known time to live of the messages in a queue of ours whose messages must never expire (AMQP-42, INC-22).
type AMQPQueue struct {
	BrokerID   string `db:"broker_id"`
	Name       string `db:"name"`
	PartyID    string `db:"party_id"`
	Known      bool   `db:"known"`      // whether the broker tells its arguments
	TTLMS      int64  `db:"ttl_ms"`     // after which a message expires, milliseconds; 0 for never
	ExpiresMS  int64  `db:"expires_ms"` // without readers, after which the queue is removed, milliseconds; 0 for never
	ExpiredAt  Time   `db:"expired_at"` // when a message that expired in it was last found among the dead letters
	SeenAt     Time   `db:"seen_at"`
	NotifiedAt Time   `db:"notified_at"`
}

// Loses reports whether messages in the queue expire.
func (q AMQPQueue) Loses(now time.Time) bool {
	return q.TTLMS > 0 || q.ExpiresMS > 0 || !q.ExpiredAt.IsZero() && now.Sub(q.ExpiredAt.Time) < AMQPExpiryShown
}

// SaveAMQPQueues writes what a broker says of queues of ours, and forgets those of it that nothing was said of since the moment given.
func (tx *Tx) SaveAMQPQueues(ctx context.Context, brokerID string, queues []AMQPQueue, stale Time) error {
	for _, q := range queues {
		_, err := tx.exec(ctx, `INSERT INTO amqp_queue (broker_id, name, party_id, known, ttl_ms, expires_ms, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (broker_id, name) DO UPDATE SET party_id = excluded.party_id, known = excluded.known, seen_at = excluded.seen_at,
			notified_at = CASE WHEN amqp_queue.ttl_ms = excluded.ttl_ms AND amqp_queue.expires_ms = excluded.expires_ms THEN amqp_queue.notified_at END,
			ttl_ms = excluded.ttl_ms, expires_ms = excluded.expires_ms`, brokerID, q.Name, q.PartyID, q.Known, q.TTLMS, q.ExpiresMS, tx.Now)
		if err != nil {
			return err
		}
	}
	_, err := tx.exec(ctx, `DELETE FROM amqp_queue WHERE broker_id = ? AND seen_at < ?`, brokerID, stale)
	return err
}

// AMQPExpired notes that a message expired in a queue of ours. Administrators are notified again when the last one is a week old.
func (tx *Tx) AMQPExpired(ctx context.Context, brokerID, partyID, name string) error {
	_, err := tx.exec(ctx, `INSERT INTO amqp_queue (broker_id, name, party_id, known, ttl_ms, expires_ms, expired_at, seen_at) VALUES (?, ?, ?, FALSE, 0, 0, ?, ?)
		ON CONFLICT (broker_id, name) DO UPDATE SET expired_at = excluded.expired_at,
		notified_at = CASE WHEN amqp_queue.expired_at > ? OR amqp_queue.ttl_ms > 0 THEN amqp_queue.notified_at END`,
		brokerID, name, partyID, tx.Now, tx.Now, At(tx.Now.Add(-AMQPExpiryShown)))
	return err
}

// TakeAMQPLosing gives the queues whose messages expire and that no administrator was notified of, and notes that one is.
func (tx *Tx) TakeAMQPLosing(ctx context.Context) ([]AMQPQueue, error) {
	var rows []AMQPQueue
	return rows, tx.list(ctx, &rows, `UPDATE amqp_queue SET notified_at = ? WHERE notified_at IS NULL AND (ttl_ms > 0 OR expires_ms > 0 OR expired_at > ?) RETURNING *`,
		tx.Now, At(tx.Now.Add(-AMQPExpiryShown)))
}

// AMQPQueues lists what is known of the queues of ours whose messages must never expire.
func (q *Queries) AMQPQueues(ctx context.Context) ([]AMQPQueue, error) {
	var rows []AMQPQueue
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_queue ORDER BY broker_id, name`)
}
