package store

import "context"

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
	var b AMQPBroker
	return b, q.get(ctx, &b, `SELECT * FROM amqp_broker WHERE id = ?`, id)
}

// AMQPBrokers lists all brokers by name.
func (q *Queries) AMQPBrokers(ctx context.Context) ([]AMQPBroker, error) {
	var rows []AMQPBroker
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_broker ORDER BY LOWER(name), id`)
}

// Phases of a connection to a broker.
const (
	AMQPConnecting = "connecting"
	AMQPOpen       = "open"
	AMQPWaiting    = "waiting" // for the next try
	AMQPStopped    = "stopped"
)

// AMQPConnection is what one node knows of its connection to a broker.
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
	var rows []AMQPConnection
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_connection`+w.sql()+` ORDER BY broker_id, node`, w.args...)
}
