package store

import (
	"context"
	"strings"
)

// Modes of a process.
const (
	AMQPAsync = "async"
	AMQPSync  = "sync"
)

// AMQPProcess joins a counterpart and an own party: both chose to support it (AMQP-09).
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

// AMQPDirectory holds who exchanges messages with whom now.
type AMQPDirectory struct {
	Brokers      []AMQPBroker
	Parties      []AMQPParty // in use, of approved partners
	Certificates map[string][]AMQPCertificate
	Processes    []AMQPProcess
}

// AMQPVersion is a text that differs whenever the directory does.
func (q *Queries) AMQPVersion(ctx context.Context) (string, error) {
	var version string
	const each = `(SELECT COUNT(*) || ':' || COALESCE(MAX(%), 0) FROM `
	return version, q.get(ctx, &version, `SELECT `+strings.ReplaceAll(each, "%", "updated_at")+`amqp_broker) || ' ' || `+
		strings.ReplaceAll(each, "%", "updated_at")+`amqp_party) || ' ' || `+strings.ReplaceAll(each, "%", "created_at")+`amqp_certificate) || ' ' || `+
		strings.ReplaceAll(each, "%", "updated_at")+`amqp_process) || ' ' || `+strings.ReplaceAll(each, "%", "p.updated_at")+`partner p WHERE p.id IN (SELECT partner_id FROM amqp_party))`)
}

// AMQPDirectory reads the directory. The certificates of a party are the newest first (AMQP-64).
func (q *Queries) AMQPDirectory(ctx context.Context) (AMQPDirectory, error) {
	d := AMQPDirectory{Certificates: map[string][]AMQPCertificate{}}
	var err error
	if d.Brokers, err = q.AMQPBrokers(ctx); err != nil {
		return d, err
	}
	if err := q.list(ctx, &d.Parties, `SELECT p.* FROM amqp_party p JOIN partner r ON r.id = p.partner_id AND r.status = 'approved' WHERE p.enabled ORDER BY p.id`); err != nil {
		return d, err
	}
	var certificates []AMQPCertificate
	if err := q.list(ctx, &certificates, `SELECT * FROM amqp_certificate ORDER BY party_id, not_before DESC, id DESC`); err != nil {
		return d, err
	}
	for _, c := range certificates {
		d.Certificates[c.PartyID] = append(d.Certificates[c.PartyID], c)
	}
	d.Processes, err = q.AMQPProcesses(ctx, "")
	return d, err
}
