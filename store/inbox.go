package store

import (
	"context"
	"fmt"
)

// Answers of a test inbox to what it receives.
const (
	InboxAccepts = "202"
	InboxRejects = "400"
	InboxBusy    = "429" // with Retry-After
	InboxFails   = "500"
	InboxSlow    = "slow" // no answer within the timeout of the endpoint
)

// Limits of the endpoint of a test inbox.
const (
	InboxPerSecond = 10
	InboxAtOnce    = 2
	InboxTimeoutMS = 5000
)

// InboxAnswers lists what a test inbox can answer.
func InboxAnswers() []string {
	return []string{InboxAccepts, InboxRejects, InboxBusy, InboxFails, InboxSlow}
}

// MaxInboxMessages bounds the messages that a test inbox holds; a new one displaces the oldest.
const MaxInboxMessages = 100

// InboxMessage is one request that a test inbox received.
type InboxMessage struct {
	ID             string  `db:"id"`
	EndpointID     string  `db:"endpoint_id"`
	ReceivedAt     Time    `db:"received_at"`
	EventType      string  `db:"event_type"` // empty when it could not be read
	IdempotencyKey string  `db:"idempotency_key"`
	Headers        string  `db:"headers"` // JSON: a list of values by name
	Body           []byte  `db:"body"`    // its beginning when it is shorter than Size
	Size           int64   `db:"size"`    // of the whole body, bytes
	Answer         string  `db:"answer"`  // one of the Inbox constants
	Findings       Strings `db:"findings"`
	DataKeys       string  `db:"data_key"` // the key that the stored body is encrypted with, as of an [Event]
	PartnerID      string  `db:"-"`        // whose inbox it is; of a message to insert
	Unread         error   `db:"-"`        // why Body is not there, as of an [Event]
}

// InsertInboxMessage stores what a test inbox received, and removes what it holds too much.
func (tx *Tx) InsertInboxMessage(ctx context.Context, m *InboxMessage) error {
	m.ID, m.ReceivedAt = tx.NewID("inb"), tx.Now
	row := *m
	if len(m.Body) > 0 {
		sealed, err := tx.sealData(ctx, m.PartnerID, inboxPlace(m.ID), m.Body)
		if err != nil {
			return err
		}
		row.Body, row.DataKeys = sealed.Bytes, sealed.Keys
	}
	if err := tx.insert(ctx, "inbox_message", &row); err != nil {
		return fmt.Errorf("add message to inbox: %w", err)
	}
	return tx.do(ctx, `DELETE FROM inbox_message WHERE endpoint_id = ? AND id IN
		(SELECT id FROM inbox_message WHERE endpoint_id = ? ORDER BY id DESC LIMIT 1000 OFFSET ?)`, m.EndpointID, m.EndpointID, MaxInboxMessages)
}

// InboxMessages lists what a test inbox holds that came after a moment, newest first, without the bodies.
func (q *Queries) InboxMessages(ctx context.Context, endpointID string, after Time) ([]InboxMessage, error) {
	return listOf[InboxMessage](ctx, q, `SELECT id, endpoint_id, received_at, event_type, idempotency_key, headers, size, answer, findings
		FROM inbox_message WHERE endpoint_id = ? AND received_at > ? ORDER BY id DESC LIMIT ?`, endpointID, after, MaxInboxMessages)
}

// InboxMessage finds a message of a test inbox.
func (q *Queries) InboxMessage(ctx context.Context, endpointID, id string) (InboxMessage, error) {
	m, err := getOne[InboxMessage](ctx, q, `SELECT * FROM inbox_message WHERE endpoint_id = ? AND id = ?`, endpointID, id)
	if err == nil {
		m.Body, m.Unread, err = q.openData(ctx, m.DataKeys, inboxPlace(m.ID), m.Body)
	}
	return m, err
}

// ClearInbox removes all that a test inbox holds.
func (tx *Tx) ClearInbox(ctx context.Context, endpointID string) error {
	return tx.do(ctx, `DELETE FROM inbox_message WHERE endpoint_id = ?`, endpointID)
}

// SetInboxAnswer changes what a test inbox answers. It is read at each message, so nothing else need know.
func (tx *Tx) SetInboxAnswer(ctx context.Context, endpointID, answer string) error {
	return tx.do(ctx, `UPDATE endpoint SET inbox_answer = ?, updated_at = ? WHERE id = ?`, answer, tx.Now, endpointID)
}

// PruneInbox removes messages of test inboxes that came before a moment.
func (tx *Tx) PruneInbox(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	n, err := tx.exec(ctx, `DELETE FROM inbox_message WHERE id IN (SELECT id FROM inbox_message WHERE received_at < ? ORDER BY received_at LIMIT ?)`, before, limit)
	return Pruned{Rows: n, Done: n < int64(limit)}, err
}
