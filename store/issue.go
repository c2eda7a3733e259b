package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schakel/registry/sorted"
)

// States of an issue. A failure opens it; a person acknowledges or resolves it; it resolves by itself when deliveries arrive again
// (see [Tx.ResolveIssues]) or the last delivery that waited for its cause was discarded; a failure of the same cause reopens one that
// was resolved, and leaves the others as they are.
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
	Quiet          bool   `db:"quiet"`     // only deliveries of notices failed since it was opened or reopened; see [IsNoticeType]
}

// Unresolved reports whether an issue still asks for attention.
func (i Issue) Unresolved() bool { return i.Status != IssueResolved }

// RecordIssues adds failed attempts to the issues of their endpoints, as recordFailures does.
func (tx *Tx) RecordIssues(ctx context.Context, outcomes []Outcome) error {
	var failed []Delivery
	for i := range outcomes {
		if outcomes[i].Delivery.Cause != "" {
			failed = append(failed, outcomes[i].Delivery)
		}
	}
	return tx.recordFailures(ctx, failed)
}

// recordFailures adds deliveries that failed to the issues of their endpoints, one statement for each endpoint and cause; the youngest
// delivery of each is its sample. It needs the id, partner, endpoint, event type, cause and detail of each.
func (tx *Tx) recordFailures(ctx context.Context, failed []Delivery) error {
	for _, rows := range byIssue(failed) {
		last := slices.MaxFunc(rows, func(a, b Delivery) int { return strings.Compare(a.ID, b.ID) })
		err := tx.recordIssue(ctx, &Issue{
			PartnerID: last.PartnerID, EndpointID: last.EndpointID, Cause: last.Cause, Failures: int64(len(rows)), DeliveryID: last.ID, Detail: last.Detail,
			Quiet: !slices.ContainsFunc(rows, func(d Delivery) bool { return !IsNoticeType(d.EventType) }),
		})
		if err != nil {
			return fmt.Errorf("record issue: %w", err)
		}
	}
	return nil
}

// byIssue groups deliveries by endpoint and cause, without those that have none. The groups come in one order, so that two nodes that
// write their issues do not wait for each other.
func byIssue(rows []Delivery) [][]Delivery {
	type key struct{ endpoint, cause string }
	groups := make(map[key][]Delivery)
	for _, d := range rows {
		if d.Cause != "" {
			k := key{d.EndpointID, d.Cause}
			groups[k] = append(groups[k], d)
		}
	}
	list := slices.Collect(maps.Values(groups))
	sorted.By(list, func(a, b []Delivery) int {
		return cmp.Or(strings.Compare(a[0].EndpointID, b[0].EndpointID), strings.Compare(a[0].Cause, b[0].Cause))
	})
	return list
}

// recordIssue adds failures to one issue. The row that comes back has the event id given here when it was opened or reopened by them.
func (tx *Tx) recordIssue(ctx context.Context, i *Issue) error {
	id, event := tx.NewID("iss"), tx.NewID("ise")
	now, err := getOne[Issue](ctx, &tx.Queries, `INSERT INTO issue (id, partner_id, endpoint_id, cause, status, failures, first_at, last_at, delivery_id, detail,
			event_id, raised_at, quiet)
		VALUES (?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (endpoint_id, cause) DO UPDATE SET
		failures = issue.failures + excluded.failures, last_at = excluded.last_at, delivery_id = excluded.delivery_id, detail = excluded.detail,
		reopened = issue.reopened + CASE WHEN issue.status = 'resolved' THEN 1 ELSE 0 END,
		event_id = CASE WHEN issue.status = 'resolved' THEN excluded.event_id ELSE issue.event_id END,
		raised_at = CASE WHEN issue.status = 'resolved' THEN excluded.raised_at ELSE issue.raised_at END,
		quiet = CASE WHEN issue.status = 'resolved' THEN excluded.quiet ELSE issue.quiet END,
		acknowledged_by = CASE WHEN issue.status = 'resolved' THEN '' ELSE issue.acknowledged_by END,
		acknowledged_at = CASE WHEN issue.status = 'resolved' THEN NULL ELSE issue.acknowledged_at END,
		status = CASE WHEN issue.status = 'resolved' THEN 'reopened' ELSE issue.status END RETURNING *`,
		id, i.PartnerID, i.EndpointID, i.Cause, i.Failures, tx.Now, tx.Now, i.DeliveryID, i.Detail, event, tx.Now, i.Quiet)
	if err != nil {
		return err
	}
	if now.EventID != event {
		if now.Quiet && !i.Quiet {
			return tx.tellAfterAll(ctx, now)
		}
		return nil
	}
	action := IssueEventReopened
	if now.ID == id {
		action = IssueEventOpened
	}
	return tx.insertIssueEvent(ctx, IssueEvent{ID: event, IssueID: now.ID, PartnerID: now.PartnerID, Action: action, Untold: !now.Quiet})
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
	From, Until                  Time // when it failed last; From inclusive, Until exclusive
	// Named is an id of the issue or its endpoint, or of a delivery that last failed for it or its event; see [DeliveryFilter.Find]. Of a correlationid
	// or subject that more than [PartBound] events share, a list goes by the newest.
	Named   string
	Subject string // of the event of such a delivery, exactly
	Page
}

// Issues lists issues, those that failed last first, with their total count.
func (q *Queries) Issues(ctx context.Context, f IssueFilter) ([]Issue, int, error) {
	deliveries := f.deliveries()
	p, err := q.part(ctx, deliveries.CEID, deliveries.Subject, "", Time{})
	if err != nil {
		return nil, 0, err
	}
	return pageOf[Issue](ctx, q, `*`, `issue`, f.where(q, p), `last_at DESC, id DESC`, f.Page)
}

// deliveries selects the deliveries that one of the issues failed for; all when the filter names none.
func (f IssueFilter) deliveries() DeliveryFilter {
	d := DeliveryFilter{Subject: f.Subject}
	if kind := KindOfID(f.Named); kind != "iss" && kind != "ept" {
		d.Find(f.Named)
	}
	return d
}

func (f IssueFilter) where(q *Queries, p eventPart) where {
	w := where{}
	switch KindOfID(f.Named) {
	case "iss":
		w.add(`id = ?`, f.Named)
	case "ept":
		w.add(`endpoint_id = ?`, f.Named)
	}
	if d := f.deliveries().selected(q, p); len(d.conditions) > 0 {
		d.add(`cause <> ''`)
		w.add(`(endpoint_id, cause) IN (SELECT endpoint_id, cause FROM delivery`+d.sql()+`)`, d.args...)
	}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`endpoint_id = ?`, f.EndpointID)
	w.text(`cause = ?`, f.Cause)
	w.in(`status`, f.Statuses)
	w.instant(`resolved_at >= ?`, f.ResolvedFrom)
	w.instant(`last_at >= ?`, f.From)
	w.instant(`last_at < ?`, f.Until)
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
	return tx.decideIssue(ctx, IssueEventReopened, by, `status = 'reopened', reopened = reopened + 1, quiet = FALSE, acknowledged_by = '', acknowledged_at = NULL
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
	return tx.insertIssueEvent(ctx, IssueEvent{IssueID: changed[0].ID, PartnerID: changed[0].PartnerID, Action: action, Actor: by, Untold: !changed[0].Quiet})
}

// HasOpenIssues reports whether an endpoint has issues that are not resolved.
func (q *Queries) HasOpenIssues(ctx context.Context, endpointID string) (bool, error) {
	ids, err := listOf[string](ctx, q, `SELECT id FROM issue WHERE endpoint_id = ? AND status <> 'resolved' LIMIT 1`, endpointID)
	return len(ids) > 0, err
}

// UnresolvedIssues counts the issues that are not resolved of each endpoint; one without any is left out.
func (q *Queries) UnresolvedIssues(ctx context.Context, endpointIDs []string) (map[string]int, error) {
	counts := make(map[string]int)
	for some := range slices.Chunk(endpointIDs, mostNames) {
		w := whereIn(`endpoint_id`, some)
		w.add(`status <> 'resolved'`)
		rows, err := listOf[struct {
			EndpointID string `db:"endpoint_id"`
			Issues     int    `db:"issues"`
		}](ctx, q, `SELECT endpoint_id, COUNT(*) AS issues FROM issue`+w.sql()+` GROUP BY endpoint_id`, w.args...)
		if err != nil {
			return nil, fmt.Errorf("count unresolved issues: %w", err)
		}
		for _, row := range rows {
			counts[row.EndpointID] = row.Issues
		}
	}
	return counts, nil
}

// waitsForIssue is the condition under which a delivery still waits for the cause of an issue.
const waitsForIssue = `EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint_id = issue.endpoint_id AND d.cause = issue.cause
	AND d.status <> 'pending' AND d.status <> 'delivered' AND d.cause <> '' AND d.status IN ('retrying', 'held', 'dead'))`

// ResolveIssues resolves by itself each issue of an endpoint that has not failed since before, when a delivery arrived at it, and of
// whose cause no delivery is retrying, held or dead any more. It returns how many.
func (tx *Tx) ResolveIssues(ctx context.Context, endpointID string, before Time) (int64, error) {
	return tx.resolveByItself(ctx, `endpoint_id = ? AND status <> 'resolved' AND last_at < ? AND NOT `+waitsForIssue, endpointID, before)
}

// resolveOf resolves by itself each issue of deliveries that arrived or were discarded, once no other delivery waits for its cause. It
// needs the endpoint and cause of each, and comes after the change of the deliveries.
func (tx *Tx) resolveOf(ctx context.Context, done []Delivery) error {
	for _, rows := range byIssue(done) {
		_, err := tx.resolveByItself(ctx, `endpoint_id = ? AND cause = ? AND status <> 'resolved' AND NOT `+waitsForIssue, rows[0].EndpointID, rows[0].Cause)
		if err != nil {
			return fmt.Errorf("resolve issue: %w", err)
		}
	}
	return nil
}

// resolveByItself resolves the issues that a condition selects.
func (tx *Tx) resolveByItself(ctx context.Context, which string, args ...any) (int64, error) {
	rows, err := listOf[Issue](ctx, &tx.Queries, `UPDATE issue SET status = 'resolved', resolved_by = '', resolved_at = ?, raised_at = NULL
		WHERE `+which+` RETURNING *`, append([]any{tx.Now}, args...)...)
	if err != nil {
		return 0, err
	}
	for _, i := range rows {
		if err := tx.insertIssueEvent(ctx, IssueEvent{IssueID: i.ID, PartnerID: i.PartnerID, Action: IssueEventResolved, Untold: !i.Quiet}); err != nil {
			return 0, err
		}
	}
	return int64(len(rows)), nil
}
