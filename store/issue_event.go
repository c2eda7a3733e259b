package store

import (
	"context"
	"fmt"
)

// What can happen to an issue.
const (
	IssueEventOpened       = "opened"
	IssueEventAcknowledged = "acknowledged"
	IssueEventResolved     = "resolved"
	IssueEventReopened     = "reopened"
	IssueEventMailed       = "mailed" // a person wrote to the people concerned
)

// IssueEvent is one change of the state of an issue. Rows are never changed.
type IssueEvent struct {
	ID        string `db:"id"`
	IssueID   string `db:"issue_id"`
	PartnerID string `db:"partner_id"`
	At        Time   `db:"at"`
	Action    string `db:"action"`
	Actor     string `db:"actor"` // who did it; empty when it happened by itself
}

// NoteIssueMail notes that a person wrote to the people concerned about an issue.
func (tx *Tx) NoteIssueMail(ctx context.Context, i Issue, by string) error {
	return tx.insertIssueEvent(ctx, IssueEvent{IssueID: i.ID, PartnerID: i.PartnerID, Action: IssueEventMailed, Actor: by})
}

// insertIssueEvent adds an event, under a new id when it has none.
func (tx *Tx) insertIssueEvent(ctx context.Context, e IssueEvent) error {
	if e.ID == "" {
		e.ID = tx.NewID("ise")
	}
	e.At = tx.Now
	if err := tx.insert(ctx, "issue_event", &e); err != nil {
		return fmt.Errorf("note what happened to issue %s: %w", e.IssueID, err)
	}
	return nil
}

// IssueEventsOf lists the newest events of an issue, newest first.
func (q *Queries) IssueEventsOf(ctx context.Context, issueID string, limit int) ([]IssueEvent, error) {
	return listOf[IssueEvent](ctx, q, `SELECT * FROM issue_event WHERE issue_id = ? ORDER BY id DESC LIMIT ?`, issueID, limit)
}

// issueTypesBound bounds the deliveries that are read to name the event types that an issue concerns.
const issueTypesBound = 1000

// IssueEventTypes lists the event types of deliveries that wait for the cause of an issue, of up to 1,000 of them.
func (q *Queries) IssueEventTypes(ctx context.Context, i Issue) ([]string, error) {
	return listOf[string](ctx, q, `SELECT DISTINCT event_type FROM (SELECT event_type FROM delivery WHERE endpoint_id = ? AND cause = ?
		AND status <> 'pending' AND status <> 'delivered' AND cause <> '' AND status IN ('retrying', 'held', 'dead') LIMIT ?) found ORDER BY event_type`,
		i.EndpointID, i.Cause, issueTypesBound)
}
