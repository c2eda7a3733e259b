package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// What can happen to an issue.
const (
	IssueEventOpened       = "opened"
	IssueEventAcknowledged = "acknowledged"
	IssueEventResolved     = "resolved"
	IssueEventReopened     = "reopened"
	IssueEventMailed       = "mailed" // a person wrote to the people concerned
)

// IssueEvent is one change of the state of an issue. Rows are never changed, but for whether subscribers were told.
type IssueEvent struct {
	ID        string `db:"id"`
	IssueID   string `db:"issue_id"`
	PartnerID string `db:"partner_id"`
	At        Time   `db:"at"`
	Action    string `db:"action"`
	Actor     string `db:"actor"`  // who did it; empty when it happened by itself
	Untold    bool   `db:"untold"` // subscribers have to be told of it, by an event
}

// noticeTypes begin the types of the events that tell subscribers of issues, and of held deliveries and dead letters.
var noticeTypes = []string{"nl.schakel.issue.", "nl.schakel.deliveries."}

// IsNoticeType reports whether events of a type tell of failed deliveries. When these events alone fail, no event tells of that: an event
// about the delivery of such an event would fail as that did, and so on without end.
func IsNoticeType(eventType string) bool {
	return slices.ContainsFunc(noticeTypes, func(prefix string) bool { return strings.HasPrefix(eventType, prefix) })
}

// tellAfterAll has subscribers told of an issue that was quiet until now, since a delivery of something else failed too.
func (tx *Tx) tellAfterAll(ctx context.Context, i Issue) error {
	if err := tx.do(ctx, `UPDATE issue SET quiet = FALSE WHERE id = ?`, i.ID); err != nil {
		return err
	}
	return tx.do(ctx, `UPDATE issue_event SET untold = TRUE WHERE id = ?`, i.EventID)
}

// IssueEventsToTell lists up to limit changes that subscribers have to be told of, oldest first.
func (q *Queries) IssueEventsToTell(ctx context.Context, limit int) ([]IssueEvent, error) {
	return listOf[IssueEvent](ctx, q, `SELECT * FROM issue_event WHERE untold ORDER BY id LIMIT ?`, limit)
}

// TellIssueEvent notes that subscribers were told of a change.
func (tx *Tx) TellIssueEvent(ctx context.Context, id string) error {
	return tx.do(ctx, `UPDATE issue_event SET untold = FALSE WHERE id = ?`, id)
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
