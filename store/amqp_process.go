package store

import "context"

// Modes of a process.
const (
	AMQPAsync = "async"
	AMQPSync  = "sync"
)

// AMQPProcess is what a counterpart and an own party do together: both chose to support it (AMQP-09).
type AMQPProcess struct {
	ID         string `db:"id"`
	PartyID    string `db:"party_id"` // the counterpart
	OwnPartyID string `db:"own_party_id"`
	Name       string `db:"name"`
	Subject    string `db:"subject"` // code of list 8279 (AMQP-21)
	Mode       string `db:"mode"`
	Service    string `db:"service"`
	Action     string `db:"action"`
	FromRole   string `db:"from_role"` // ours
	ToRole     string `db:"to_role"`   // theirs
	CPAID      string `db:"cpa_id"`
	Sends      string `db:"sends"`      // event type that goes out by it, or empty
	Receives   string `db:"receives"`   // event type of what comes in by it, or empty
	HandlerID  string `db:"handler_id"` // endpoint that answers synchronous requests, or empty
	Source     string `db:"source"`
	CreatedAt  Time   `db:"created_at"`
	UpdatedAt  Time   `db:"updated_at"`
}

// InsertAMQPProcess adds a process under a new id.
func (tx *Tx) InsertAMQPProcess(ctx context.Context, p *AMQPProcess) error {
	p.ID, p.CreatedAt, p.UpdatedAt = tx.NewID("amx"), tx.Now, tx.Now
	return tx.insert(ctx, "amqp_process", p)
}

// UpdateAMQPProcess writes all of a process but whose it is.
func (tx *Tx) UpdateAMQPProcess(ctx context.Context, p *AMQPProcess) error {
	p.UpdatedAt = tx.Now
	return tx.update(ctx, "amqp_process", p, "name", "subject", "mode", "service", "action", "from_role", "to_role", "cpa_id", "sends", "receives",
		"handler_id", "source", "updated_at")
}

// DeleteAMQPProcess removes a process of a party.
func (tx *Tx) DeleteAMQPProcess(ctx context.Context, partyID, id string) error {
	return tx.one(ctx, `DELETE FROM amqp_process WHERE id = ? AND party_id = ?`, id, partyID)
}

// AMQPProcesses lists the processes of a counterpart by subject, of all when partyID is empty.
func (q *Queries) AMQPProcesses(ctx context.Context, partyID string) ([]AMQPProcess, error) {
	w := where{}
	w.text(`party_id = ?`, partyID)
	var rows []AMQPProcess
	return rows, q.list(ctx, &rows, `SELECT * FROM amqp_process`+w.sql()+` ORDER BY party_id, subject, id`, w.args...)
}
