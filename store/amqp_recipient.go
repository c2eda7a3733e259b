package store

import (
	"context"
	"strings"
)

// recipient finds a subscription that an event of a type takes when a partner sent it: one of the own organisation, or along a
// route (guarantee G3). It has place for the expressions of the event type and the partner.
const recipient = `EXISTS (SELECT 1 FROM subscription_type t JOIN subscription s ON s.id = t.subscription_id AND s.accepting
	JOIN partner r ON r.id = s.partner_id WHERE t.event_type = %type AND (r.own OR EXISTS (SELECT 1 FROM route w
	WHERE w.from_partner_id = %from AND w.to_partner_id = r.id AND w.event_type = %type)))`

// HasRecipient reports whether somebody is subscribed to events of a type that come from a partner. Filters are not looked at.
func (q *Queries) HasRecipient(ctx context.Context, eventType, fromPartnerID string) (bool, error) {
	var there bool
	return there, q.get(ctx, &there, `SELECT `+expressed(`?`, `?`), eventType, fromPartnerID, eventType)
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
	var rows []AMQPProcess
	return rows, q.list(ctx, &rows, `SELECT x.* FROM amqp_process x JOIN amqp_party p ON p.id = x.party_id AND p.enabled
		JOIN partner o ON o.id = p.partner_id AND o.status = 'approved'`+w.sql()+` ORDER BY x.party_id, x.subject, x.id`, w.args...)
}

// AnyAMQPEndpoint reports whether there is an endpoint of kind amqp that has not ended.
func (q *Queries) AnyAMQPEndpoint(ctx context.Context) (bool, error) {
	var there bool
	return there, q.get(ctx, &there, `SELECT EXISTS (SELECT 1 FROM endpoint WHERE kind = ? AND status <> ?)`, EndpointAMQP, EndpointEnded)
}

// SentByAMQP reports whether an endpoint of kind amqp has a subscription to events of a type that takes them.
func (q *Queries) SentByAMQP(ctx context.Context, eventType string) (bool, error) {
	var there bool
	return there, q.get(ctx, &there, `SELECT EXISTS (SELECT 1 FROM subscription_type t JOIN subscription s ON s.id = t.subscription_id AND s.accepting
		JOIN endpoint e ON e.id = s.endpoint_id AND e.kind = ? WHERE t.event_type = ?)`, EndpointAMQP, eventType)
}

// AMQPReceiving is an event type that messages of a partner become.
type AMQPReceiving struct {
	PartnerID string `db:"partner_id"`
	EventType string `db:"event_type"`
}

// AMQPReceiving lists them for all parties in use.
func (q *Queries) AMQPReceiving(ctx context.Context) ([]AMQPReceiving, error) {
	var rows []AMQPReceiving
	return rows, q.list(ctx, &rows, `SELECT DISTINCT p.partner_id, x.receives AS event_type FROM amqp_process x
		JOIN amqp_party p ON p.id = x.party_id AND p.enabled WHERE x.receives <> '' ORDER BY p.partner_id, x.receives`)
}
