package store

import (
	"context"
	"strings"
	"time"
)

// Dialects of message brokers, and ways to log in to one.
const (
	AMQPRabbitMQ4   = "rabbitmq4"
	AMQPRabbitMQ310 = "rabbitmq310"
	AMQPServiceBus  = "servicebus"

	AMQPPlain     = "plain"
	AMQPExternal  = "external"
	AMQPAnonymous = "anonymous"
)

// AMQPBroker is a message broker by which we exchange messages over AMQP 1.0.
type AMQPBroker struct {
	ID          string `db:"id"`
	Name        string `db:"name"`
	Dialect     string `db:"dialect"`
	URL         string `db:"url"`       // amqp:// or amqps://
	Namespace   string `db:"namespace"` // as the address registry writes it before a queue
	SASL        string `db:"sasl"`
	Username    string `db:"username"`
	Secret      string `db:"secret"`      // sealed
	CA          string `db:"ca"`          // PEM; empty for the system's
	Certificate string `db:"certificate"` // PEM, of ours
	PrivateKey  string `db:"private_key"` // sealed
	Enabled     bool   `db:"enabled"`
	CreatedAt   Time   `db:"created_at"`
	CreatedBy   string `db:"created_by"`
	UpdatedAt   Time   `db:"updated_at"`
}

// InsertAMQPBroker adds a broker under a new id; a taken name is ErrConflict.
func (tx *Tx) InsertAMQPBroker(ctx context.Context, b *AMQPBroker) error {
	b.ID, b.CreatedAt, b.UpdatedAt = tx.NewID("amb"), tx.Now, tx.Now
	return tx.insert(ctx, "amqp_broker", b)
}

// UpdateAMQPBroker writes all of a broker; a taken name is ErrConflict.
func (tx *Tx) UpdateAMQPBroker(ctx context.Context, b *AMQPBroker) error {
	b.UpdatedAt = tx.Now
	return tx.update(ctx, "amqp_broker", b, "name", "dialect", "url", "namespace", "sasl", "username", "secret", "ca", "certificate", "private_key",
		"enabled", "updated_at")
}

// DeleteAMQPBroker removes a broker that no party uses; ErrConflict when one does.
func (tx *Tx) DeleteAMQPBroker(ctx context.Context, id string) error {
	var n int
	if err := tx.get(ctx, &n, `SELECT COUNT(*) FROM amqp_party WHERE broker_id = ?`, id); err != nil {
		return err
	}
	if n > 0 {
		return ErrConflict
	}
	if _, err := tx.exec(ctx, `DELETE FROM amqp_connection WHERE broker_id = ?`, id); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM amqp_queue WHERE broker_id = ?`, id); err != nil {
		return err
	}
	return tx.one(ctx, `DELETE FROM amqp_broker WHERE id = ?`, id)
}

// AMQPBroker finds a broker.
func (q *Queries) AMQPBroker(ctx context.Context, id string) (AMQPBroker, error) {
	return getOne[AMQPBroker](ctx, q, `SELECT * FROM amqp_broker WHERE id = ?`, id)
}

// AMQPBrokers lists all brokers by name.
func (q *Queries) AMQPBrokers(ctx context.Context) ([]AMQPBroker, error) {
	return listOf[AMQPBroker](ctx, q, `SELECT * FROM amqp_broker ORDER BY LOWER(name), id`)
}

// Phases of a connection to a broker.
const (
	AMQPConnecting = "connecting"
	AMQPOpen       = "open"
	AMQPWaiting    = "waiting" // for the next try
	AMQPStopped    = "stopped"
)

// AMQPConnection describes the connection of one node to a broker.
type AMQPConnection struct {
	BrokerID   string `db:"broker_id"`
	Node       string `db:"node"`
	Phase      string `db:"phase"`
	Detail     string `db:"detail"`
	Reconnects int64  `db:"reconnects"`
	Since      Time   `db:"since"`   // when the phase began
	SeenAt     Time   `db:"seen_at"` // when the node last said so
}

// SaveAMQPConnection keeps what a node says of its connection, and forgets nodes that said nothing since the moment given.
func (tx *Tx) SaveAMQPConnection(ctx context.Context, c *AMQPConnection, stale Time) error {
	c.SeenAt = tx.Now
	if _, err := tx.exec(ctx, `DELETE FROM amqp_connection WHERE broker_id = ? AND (node = ? OR seen_at < ?)`, c.BrokerID, c.Node, stale); err != nil {
		return err
	}
	return tx.insert(ctx, "amqp_connection", c)
}

// AMQPConnections lists what all nodes know, of all brokers when brokerID is empty.
func (q *Queries) AMQPConnections(ctx context.Context, brokerID string) ([]AMQPConnection, error) {
	w := where{}
	w.text(`broker_id = ?`, brokerID)
	return listOf[AMQPConnection](ctx, q, `SELECT * FROM amqp_connection`+w.sql()+` ORDER BY broker_id, node`, w.args...)
}

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
	return tx.do(ctx, `DELETE FROM amqp_queue WHERE broker_id = ? AND seen_at < ?`, brokerID, stale)
}

// AMQPExpired notes that a message expired in a queue of ours. Administrators are notified again when the last one is a week old.
func (tx *Tx) AMQPExpired(ctx context.Context, brokerID, partyID, name string) error {
	return tx.do(ctx, `INSERT INTO amqp_queue (broker_id, name, party_id, known, ttl_ms, expires_ms, expired_at, seen_at) VALUES (?, ?, ?, FALSE, 0, 0, ?, ?)
		ON CONFLICT (broker_id, name) DO UPDATE SET expired_at = excluded.expired_at,
		notified_at = CASE WHEN amqp_queue.expired_at > ? OR amqp_queue.ttl_ms > 0 THEN amqp_queue.notified_at END`,
		brokerID, name, partyID, tx.Now, tx.Now, At(tx.Now.Add(-AMQPExpiryShown)))
}

// TakeAMQPLosing gives the queues whose messages expire and that no administrator was notified of, and notes that one is.
func (tx *Tx) TakeAMQPLosing(ctx context.Context) ([]AMQPQueue, error) {
	return listOf[AMQPQueue](ctx, &tx.Queries, `UPDATE amqp_queue SET notified_at = ? WHERE notified_at IS NULL AND (ttl_ms > 0 OR expires_ms > 0 OR expired_at > ?) RETURNING *`,
		tx.Now, At(tx.Now.Add(-AMQPExpiryShown)))
}

// AMQPQueues lists what is known of the queues of ours whose messages must never expire.
func (q *Queries) AMQPQueues(ctx context.Context) ([]AMQPQueue, error) {
	return listOf[AMQPQueue](ctx, q, `SELECT * FROM amqp_queue ORDER BY broker_id, name`)
}
