package store

import (
	"context"
	"strings"
)

// Kinds of parties, and where what we know of one comes from.
const (
	AMQPHealth      = "health"      // by the AMQP profile of helsenorge.no
	AMQPCloudEvents = "cloudevents" // by the AMQP binding of CloudEvents

	AMQPEntered  = "entered"
	AMQPFromCPA  = "cpa"
	AMQPRegistry = "registry" // the address registry
)

// AMQPParty exchanges messages by queues: an own party, whose queues we read, or a partner's, to whose queues we write.
type AMQPParty struct {
	ID            string `db:"id"`
	PartnerID     string `db:"partner_id"`
	EndpointID    string `db:"endpoint_id"` // of a partner's party: where its subscriptions deliver
	BrokerID      string `db:"broker_id"`
	Own           bool   `db:"own"`
	Kind          string `db:"kind"`
	Name          string `db:"name"`
	HerID         int64  `db:"her_id"`
	ParentHerID   int64  `db:"parent_her_id"`
	AsyncQueue    string `db:"async_queue"` // as registered
	SyncQueue     string `db:"sync_queue"`
	ReplyQueue    string `db:"reply_queue"` // of an own party: where answers to synchronous requests come
	ErrorQueue    string `db:"error_queue"`
	DeadQueue     string `db:"dead_queue"`
	InboundQueue  string `db:"inbound_queue"`  // of a cloudevents party: where we read what it sends
	ClientID      string `db:"client_id"`      // of a cloudevents party: whose rights hold for what it sends
	ContentMode   string `db:"content_mode"`   // of a cloudevents party: structured or binary
	AnswerWaitMS  int64  `db:"answer_wait_ms"` // after which an AppRec is overdue, milliseconds (AMQP-117); 0 is the default
	ApprecVersion string `db:"apprec_version"` // 1.0 or 1.1; empty is 1.1
	Source        string `db:"source"`
	Enabled       bool   `db:"enabled"`
	RefreshedAt   Time   `db:"refreshed_at"` // when the address registry was last asked
	CreatedAt     Time   `db:"created_at"`
	CreatedBy     string `db:"created_by"`
	UpdatedAt     Time   `db:"updated_at"`
}

// InsertAMQPParty adds a party under a new id; ErrConflict when its HER-id or its endpoint has one.
func (tx *Tx) InsertAMQPParty(ctx context.Context, p *AMQPParty) error {
	p.ID, p.CreatedAt, p.UpdatedAt = tx.NewID("amp"), tx.Now, tx.Now
	if err := tx.insert(ctx, "amqp_party", p); err != nil {
		return err
	}
	return tx.bumpFanout(ctx)
}

// UpdateAMQPParty writes all of a party but whose it is; a taken HER-id is ErrConflict.
func (tx *Tx) UpdateAMQPParty(ctx context.Context, p *AMQPParty) error {
	p.UpdatedAt = tx.Now
	if err := tx.bumpFanout(ctx); err != nil {
		return err
	}
	return tx.update(ctx, "amqp_party", p, "broker_id", "kind", "name", "her_id", "parent_her_id", "async_queue", "sync_queue", "reply_queue",
		"error_queue", "dead_queue", "inbound_queue", "client_id", "content_mode", "answer_wait_ms", "apprec_version", "source", "enabled",
		"refreshed_at", "updated_at")
}

// AMQPParty finds a party.
func (q *Queries) AMQPParty(ctx context.Context, id string) (AMQPParty, error) {
	return getOne[AMQPParty](ctx, q, `SELECT * FROM amqp_party WHERE id = ?`, id)
}

// AMQPPartyByHerID finds the party with a HER-id.
func (q *Queries) AMQPPartyByHerID(ctx context.Context, herID int64) (AMQPParty, error) {
	return getOne[AMQPParty](ctx, q, `SELECT * FROM amqp_party WHERE her_id > 0 AND her_id = ?`, herID)
}

// AMQPPartyByEndpoint finds the party that an endpoint delivers to.
func (q *Queries) AMQPPartyByEndpoint(ctx context.Context, endpointID string) (AMQPParty, error) {
	return getOne[AMQPParty](ctx, q, `SELECT * FROM amqp_party WHERE endpoint_id <> '' AND endpoint_id = ?`, endpointID)
}

// AMQPParties lists parties by name, of one partner unless partnerID is empty.
func (q *Queries) AMQPParties(ctx context.Context, partnerID string) ([]AMQPParty, error) {
	w := where{}
	w.text(`partner_id = ?`, partnerID)
	return listOf[AMQPParty](ctx, q, `SELECT * FROM amqp_party`+w.sql()+` ORDER BY own DESC, LOWER(name), id`, w.args...)
}

// Purposes of an enterprise certificate.
const (
	AMQPSign    = "sign"
	AMQPEncrypt = "encrypt"
)

// AMQPCertificate is an enterprise certificate of a party for one purpose.
type AMQPCertificate struct {
	ID          string `db:"id"`
	PartyID     string `db:"party_id"`
	Purpose     string `db:"purpose"`
	Thumbprint  string `db:"thumbprint"`  // SHA-1, upper-case hex
	Certificate string `db:"certificate"` // PEM, with its chain
	PrivateKey  string `db:"private_key"` // sealed; of an own party only
	Subject     string `db:"subject"`
	NotBefore   Time   `db:"not_before"`
	NotAfter    Time   `db:"not_after"`
	Source      string `db:"source"`
	CreatedAt   Time   `db:"created_at"`
}

// InsertAMQPCertificate adds a certificate; ErrConflict when the party has it for that purpose.
func (tx *Tx) InsertAMQPCertificate(ctx context.Context, c *AMQPCertificate) error {
	c.ID, c.CreatedAt = tx.NewID("amc"), tx.Now
	return tx.insert(ctx, "amqp_certificate", c)
}

// DeleteAMQPCertificate removes a certificate of a party.
func (tx *Tx) DeleteAMQPCertificate(ctx context.Context, partyID, id string) error {
	return tx.one(ctx, `DELETE FROM amqp_certificate WHERE id = ? AND party_id = ?`, id, partyID)
}

// AMQPCertificates lists the certificates of a party, the newest first (AMQP-64).
func (q *Queries) AMQPCertificates(ctx context.Context, partyID string) ([]AMQPCertificate, error) {
	return listOf[AMQPCertificate](ctx, q, `SELECT * FROM amqp_certificate WHERE party_id = ? ORDER BY not_before DESC, id DESC`, partyID)
}

// recipient finds a subscription that an event of a type takes when a partner sent it: one of the own organisation, or along a
// route (guarantee G3). It has place for the expressions of the event type and the partner.
const recipient = `EXISTS (SELECT 1 FROM subscription_type t JOIN subscription s ON s.id = t.subscription_id AND s.accepting
	JOIN partner r ON r.id = s.partner_id WHERE t.event_type = %type AND (r.own OR EXISTS (SELECT 1 FROM route w
	WHERE w.from_partner_id = %from AND w.to_partner_id = r.id AND w.event_type = %type)))`

// HasRecipient reports whether somebody is subscribed to events of a type that come from a partner. Filters are not looked at.
func (q *Queries) HasRecipient(ctx context.Context, eventType, fromPartnerID string) (bool, error) {
	return getOne[bool](ctx, q, `SELECT `+expressed(`?`, `?`), eventType, fromPartnerID, eventType)
}

func expressed(eventType, from string) string {
	return strings.NewReplacer("%type", eventType, "%from", from).Replace(recipient)
}

// AMQPWithoutRecipient lists the processes by which messages come in that become events nobody is subscribed to, of parties in
// use: all of them, or those of one partner. A synchronous one that a webhook answers needs no subscription.
func (q *Queries) AMQPWithoutRecipient(ctx context.Context, partnerID string) ([]AMQPProcess, error) {
	w := where{}
	w.text(`p.partner_id = ?`, partnerID)
	w.add(`x.receives <> '' AND NOT (x.mode = 'sync' AND x.handler_id <> '') AND NOT ` + expressed(`x.receives`, `p.partner_id`))
	return listOf[AMQPProcess](ctx, q, `SELECT x.* FROM amqp_process x JOIN amqp_party p ON p.id = x.party_id AND p.enabled
		JOIN partner o ON o.id = p.partner_id AND o.status = 'approved'`+w.sql()+` ORDER BY x.party_id, x.subject, x.id`, w.args...)
}

// AnyAMQPEndpoint reports whether there is an endpoint of kind amqp that has not ended.
func (q *Queries) AnyAMQPEndpoint(ctx context.Context) (bool, error) {
	return getOne[bool](ctx, q, `SELECT EXISTS (SELECT 1 FROM endpoint WHERE kind = ? AND status <> ?)`, EndpointAMQP, EndpointEnded)
}

// SentByAMQP reports whether an endpoint of kind amqp has a subscription to events of a type that takes them.
func (q *Queries) SentByAMQP(ctx context.Context, eventType string) (bool, error) {
	return getOne[bool](ctx, q, `SELECT EXISTS (SELECT 1 FROM subscription_type t JOIN subscription s ON s.id = t.subscription_id AND s.accepting
		JOIN endpoint e ON e.id = s.endpoint_id AND e.kind = ? WHERE t.event_type = ?)`, EndpointAMQP, eventType)
}

// AMQPReceiving is an event type that messages of a partner become.
type AMQPReceiving struct {
	PartnerID string `db:"partner_id"`
	EventType string `db:"event_type"`
}

// AMQPReceiving lists them for all parties in use.
func (q *Queries) AMQPReceiving(ctx context.Context) ([]AMQPReceiving, error) {
	return listOf[AMQPReceiving](ctx, q, `SELECT DISTINCT p.partner_id, x.receives AS event_type FROM amqp_process x
		JOIN amqp_party p ON p.id = x.party_id AND p.enabled WHERE x.receives <> '' ORDER BY p.partner_id, x.receives`)
}

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
	return listOf[AMQPProcess](ctx, q, `SELECT * FROM amqp_process`+w.sql()+` ORDER BY party_id, subject, id`, w.args...)
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
