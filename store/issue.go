package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// States of an issue. A failure opens it; a person acknowledges or resolves it; it resolves by itself when deliveries arrive again
// (see [Tx.ResolveIssues]); a failure of the same cause reopens one that was resolved, and leaves the others as they are.
//
//	open, reopened ── acknowledge ──► acknowledged
//	open, reopened, acknowledged ── resolve, or by itself ──► resolved
//	resolved ── reopen, or the same failure ──► reopened
const (
	IssueOpen         = "open"
	IssueAcknowledged = "acknowledged"
	IssueResolved     = "resolved"
	IssueReopened     = "reopened"
)

// Issue groups the failed attempts of one endpoint that have one cause.
type Issue struct {
	ID             string `db:"id"`
	PartnerID      string `db:"partner_id"`
	EndpointID     string `db:"endpoint_id"`
	Cause          string `db:"cause"` // a stable key, without ids and times
	Status         string `db:"status"`
	Failures       int64  `db:"failures"` // failed attempts since FirstAt
	FirstAt        Time   `db:"first_at"`
	LastAt         Time   `db:"last_at"`
	DeliveryID     string `db:"delivery_id"` // of the newest failure
	Detail         string `db:"detail"`      // of the newest failure, for people
	AcknowledgedBy string `db:"acknowledged_by"`
	AcknowledgedAt Time   `db:"acknowledged_at"`
	ResolvedBy     string `db:"resolved_by"` // empty when it was resolved by itself
	ResolvedAt     Time   `db:"resolved_at"`
	Reopened       int64  `db:"reopened"`  // how many times
	EventID        string `db:"event_id"`  // of the IssueEvent that opened or reopened it last
	RaisedAt       Time   `db:"raised_at"` // since when people have to be told of it; zero when they were
	ToldAt         Time   `db:"told_at"`   // when people were told of it last; zero for never
}

// Unresolved reports whether an issue still asks for attention.
func (i Issue) Unresolved() bool { return i.Status != IssueResolved }

// RecordIssues adds failed attempts to the issues of their endpoints, one statement for each endpoint and cause. An outcome
// without a cause is not of interest. It takes the rows in one order, so that two nodes do not wait for each other.
func (tx *Tx) RecordIssues(ctx context.Context, outcomes []Outcome) error {
	type key struct{ endpoint, cause string }
	var all map[key]*Issue
	for i := range outcomes {
		d := &outcomes[i].Delivery
		if d.Cause == "" {
			continue
		}
		if all == nil {
			all = make(map[key]*Issue)
		}
		k := key{d.EndpointID, d.Cause}
		if all[k] == nil {
			all[k] = &Issue{PartnerID: d.PartnerID, EndpointID: d.EndpointID, Cause: d.Cause}
		}
		all[k].Failures++
		all[k].DeliveryID, all[k].Detail = d.ID, d.Detail
	}
	rows := make([]*Issue, 0, len(all))
	for _, row := range all {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *Issue) int {
		return cmp.Or(strings.Compare(a.EndpointID, b.EndpointID), strings.Compare(a.Cause, b.Cause))
	})
	for _, i := range rows {
		if err := tx.recordIssue(ctx, i); err != nil {
			return fmt.Errorf("record issue: %w", err)
		}
	}
	return nil
}

// recordIssue adds failures to one issue. The row that comes back has the event id given here when it was opened or reopened by them.
func (tx *Tx) recordIssue(ctx context.Context, i *Issue) error {
	id, event := tx.NewID("iss"), tx.NewID("ise")
	now, err := getOne[Issue](ctx, &tx.Queries, `INSERT INTO issue (id, partner_id, endpoint_id, cause, status, failures, first_at, last_at, delivery_id, detail,
			event_id, raised_at)
		VALUES (?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (endpoint_id, cause) DO UPDATE SET
		failures = issue.failures + excluded.failures, last_at = excluded.last_at, delivery_id = excluded.delivery_id, detail = excluded.detail,
		reopened = issue.reopened + CASE WHEN issue.status = 'resolved' THEN 1 ELSE 0 END,
		event_id = CASE WHEN issue.status = 'resolved' THEN excluded.event_id ELSE issue.event_id END,
		raised_at = CASE WHEN issue.status = 'resolved' THEN excluded.raised_at ELSE issue.raised_at END,
		acknowledged_by = CASE WHEN issue.status = 'resolved' THEN '' ELSE issue.acknowledged_by END,
		acknowledged_at = CASE WHEN issue.status = 'resolved' THEN NULL ELSE issue.acknowledged_at END,
		status = CASE WHEN issue.status = 'resolved' THEN 'reopened' ELSE issue.status END RETURNING *`,
		id, i.PartnerID, i.EndpointID, i.Cause, i.Failures, tx.Now, tx.Now, i.DeliveryID, i.Detail, event, tx.Now)
	if err != nil || now.EventID != event {
		return err
	}
	action := IssueEventReopened
	if now.ID == id {
		action = IssueEventOpened
	}
	return tx.insertIssueEvent(ctx, IssueEvent{ID: event, IssueID: now.ID, PartnerID: now.PartnerID, Action: action})
}

// Issue finds an issue.
func (q *Queries) Issue(ctx context.Context, id string) (Issue, error) {
	return getOne[Issue](ctx, q, `SELECT * FROM issue WHERE id = ?`, id)
}

// IssueFilter selects issues; empty members select all.
type IssueFilter struct {
	PartnerID, EndpointID, Cause string
	Statuses                     []string
	ResolvedFrom                 Time // inclusive
	Page
}

// Issues lists issues, those that failed last first, with their total count.
func (q *Queries) Issues(ctx context.Context, f IssueFilter) ([]Issue, int, error) {
	return pageOf[Issue](ctx, q, `*`, `issue`, f.where(), `last_at DESC, id DESC`, f.Page)
}

func (f IssueFilter) where() where {
	w := where{}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`endpoint_id = ?`, f.EndpointID)
	w.text(`cause = ?`, f.Cause)
	w.in(`status`, f.Statuses)
	w.instant(`resolved_at >= ?`, f.ResolvedFrom)
	return w
}

// AcknowledgeIssue notes who looks into an open issue. One in another state is ErrConflict.
func (tx *Tx) AcknowledgeIssue(ctx context.Context, id, by string) error {
	return tx.decideIssue(ctx, IssueEventAcknowledged, by, `status = 'acknowledged', acknowledged_by = ?, acknowledged_at = ?, raised_at = NULL
		WHERE id = ? AND status IN ('open', 'reopened')`, by, tx.Now, id)
}

// ResolveIssue resolves an issue by a person. One that is resolved is ErrConflict.
func (tx *Tx) ResolveIssue(ctx context.Context, id, by string) error {
	return tx.decideIssue(ctx, IssueEventResolved, by, `status = 'resolved', resolved_by = ?, resolved_at = ?, raised_at = NULL
		WHERE id = ? AND status <> 'resolved'`, by, tx.Now, id)
}

// ReopenIssue opens a resolved issue again by a person, who need not be told of it. One in another state is ErrConflict.
func (tx *Tx) ReopenIssue(ctx context.Context, id, by string) error {
	return tx.decideIssue(ctx, IssueEventReopened, by, `status = 'reopened', reopened = reopened + 1, acknowledged_by = '', acknowledged_at = NULL
		WHERE id = ? AND status = 'resolved'`, id)
}

// decideIssue changes the issue that a condition names, and notes what a person did.
func (tx *Tx) decideIssue(ctx context.Context, action, by, set string, args ...any) error {
	changed, err := listOf[Issue](ctx, &tx.Queries, `UPDATE issue SET `+set+` RETURNING *`, args...)
	if err == nil && len(changed) == 0 {
		return ErrConflict
	}
	if err != nil {
		return err
	}
	return tx.insertIssueEvent(ctx, IssueEvent{IssueID: changed[0].ID, PartnerID: changed[0].PartnerID, Action: action, Actor: by})
}

// HasOpenIssues reports whether an endpoint has issues that are not resolved.
func (q *Queries) HasOpenIssues(ctx context.Context, endpointID string) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT id FROM issue WHERE endpoint_id = ? AND status <> 'resolved' LIMIT 1`, endpointID)
	return len(ids) > 0, err
}

// waitsForIssue is the condition under which a delivery still waits for the cause of an issue.
const waitsForIssue = `EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint_id = issue.endpoint_id AND d.cause = issue.cause
	AND d.status <> 'pending' AND d.status <> 'delivered' AND d.cause <> '' AND d.status IN ('retrying', 'held', 'dead'))`

// ResolveIssues resolves by itself each issue of an endpoint that has not failed since before, when a delivery arrived at it, and of
// whose cause no delivery is retrying, held or dead any more. It returns how many.
func (tx *Tx) ResolveIssues(ctx context.Context, endpointID string, before Time) (int64, error) {
	return tx.resolveByItself(ctx, `endpoint_id = ? AND status <> 'resolved' AND last_at < ? AND NOT `+waitsForIssue, endpointID, before)
}

// resolveByItself resolves the issues that a condition selects.
func (tx *Tx) resolveByItself(ctx context.Context, which string, args ...any) (int64, error) {
	rows, err := listOf[Issue](ctx, &tx.Queries, `UPDATE issue SET status = 'resolved', resolved_by = '', resolved_at = ?, raised_at = NULL
		WHERE `+which+` RETURNING *`, append([]any{tx.Now}, args...)...)
	if err != nil {
		return 0, err
	}
	for _, i := range rows {
		if err := tx.insertIssueEvent(ctx, IssueEvent{IssueID: i.ID, PartnerID: i.PartnerID, Action: IssueEventResolved}); err != nil {
			return 0, err
		}
	}
	return int64(len(rows)), nil
}
