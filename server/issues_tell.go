package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"schakel/delivery/outbox"
	"schakel/server/cli"
	"schakel/store"
)

// issueTypes are the events that tell subscribers of issues, by what happened. A mail to the people concerned is no event.
func issueTypes() map[string]string {
	return map[string]string{
		store.IssueEventOpened: "nl.schakel.issue.opened.v1", store.IssueEventReopened: "nl.schakel.issue.reopened.v1",
		store.IssueEventAcknowledged: "nl.schakel.issue.acknowledged.v1", store.IssueEventResolved: "nl.schakel.issue.resolved.v1",
	}
}

const (
	issueTellEvery = 5 * time.Second
	issueTellMost  = 100 // changes in one turn
)

// typeStuck is the event that tells subscribers of held deliveries and dead letters at an endpoint.
const typeStuck = "nl.schakel.deliveries.stuck.v1"

// issueTeller informs subscribers of issues that are opened, reopened, acknowledged or resolved, and of held deliveries and dead letters
// when people are told by mail, as events like any other: the partner whose endpoint it is, and the own organisation. What is told is
// marked afterwards, and the id of an event is that of the change, or made of the endpoint, state and moment: telling it twice, after a
// crash or by several nodes, is one event (guarantee G4). Of what only the delivery of these events makes nobody is told; see
// [store.IsNoticeType].
type issueTeller struct {
	db     *store.DB
	accept func(context.Context, outbox.Submission) (outbox.Receipt, error)
	base   string
	log    *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// issueTeller informs subscribers of the issues of this Schakel.
func (p *program) issueTeller(log *slog.Logger) *issueTeller {
	return &issueTeller{db: p.db, accept: p.engine.Accept, base: p.base, log: log}
}

// Name implements Service.
func (t *issueTeller) Name() string { return "issue events" }

// Start implements Service.
func (t *issueTeller) Start(ctx context.Context) error {
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.done.Go(func() {
		for cli.Pause(ctx, issueTellEvery) {
			if err := t.turn(ctx); err != nil && ctx.Err() == nil {
				t.log.WarnContext(ctx, "issue events wait; they are tried again", "error", err)
			}
		}
	})
	return nil
}

// Stop implements Service: what is not told yet is told after the next start.
func (t *issueTeller) Stop(context.Context) error {
	t.cancel()
	t.done.Wait()
	return nil
}

// turn hands in events about what subscribers were not told of, in its order.
func (t *issueTeller) turn(ctx context.Context) error {
	rows, err := t.db.IssueEventsToTell(ctx, issueTellMost)
	if err != nil {
		return fmt.Errorf("list changes of issues: %w", err)
	}
	for _, row := range rows {
		if err := t.tell(ctx, row); err != nil {
			return fmt.Errorf("tell of issue %s: %w", row.IssueID, err)
		}
		if err := t.db.Write(ctx, func(tx *store.Tx) error { return tx.TellIssueEvent(ctx, row.ID) }); err != nil {
			return fmt.Errorf("note what was told: %w", err)
		}
	}
	notices, err := t.db.NoticesToTell(ctx, issueTellMost)
	if err != nil {
		return fmt.Errorf("list notices: %w", err)
	}
	for _, n := range notices {
		if err := t.tellStuck(ctx, n); err != nil {
			return fmt.Errorf("tell of %s deliveries at endpoint %s: %w", n.Status, n.EndpointID, err)
		}
		if err := t.db.Write(ctx, func(tx *store.Tx) error { return tx.TellNotice(ctx, n) }); err != nil {
			return fmt.Errorf("note what was told: %w", err)
		}
	}
	return nil
}

// issueChanged is the data of the event.
type issueChanged struct {
	IssueID    string     `json:"issueId"`
	PartnerID  string     `json:"partnerId"`
	EndpointID string     `json:"endpointId"`
	Endpoint   string     `json:"endpoint"`
	Cause      string     `json:"cause"`
	Failures   int64      `json:"failures"`
	FirstAt    store.Time `json:"firstAt"`
	LastAt     store.Time `json:"lastAt"`
	DeliveryID string     `json:"deliveryId"`
	By         string     `json:"by,omitempty"`
	URL        string     `json:"url"`
}

// tell hands one event to the engine.
func (t *issueTeller) tell(ctx context.Context, row store.IssueEvent) error {
	kind := issueTypes()[row.Action]
	if kind == "" {
		return nil
	}
	i, err := t.db.Issue(ctx, row.IssueID)
	if err != nil {
		return err
	}
	at, err := t.db.Endpoint(ctx, i.EndpointID)
	if err != nil {
		return err
	}
	s, err := ownEvent(ctx, t.db, t.base, store.OnlyFor(i.PartnerID), map[string]any{
		"id": row.ID, "type": kind, "subject": i.ID, "partitionkey": i.ID,
		"time": row.At.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json",
		"data": issueChanged{
			i.ID, i.PartnerID, i.EndpointID, at.Name, i.Cause, i.Failures, i.FirstAt, i.LastAt, i.DeliveryID, row.Actor,
			t.base + "/events/v1/issues/" + url.PathEscape(i.ID),
		},
	})
	if err == nil {
		_, err = t.accept(ctx, s)
	}
	return err
}

// deliveriesStuck is the data of the event of that name.
type deliveriesStuck struct {
	PartnerID  string       `json:"partnerId"`
	EndpointID string       `json:"endpointId"`
	Endpoint   string       `json:"endpoint"`
	Status     string       `json:"status"`
	Deliveries int          `json:"deliveries"`
	More       bool         `json:"more,omitempty"`
	FirstAt    store.Time   `json:"firstAt"`
	DeliveryID string       `json:"deliveryId"`
	Causes     []stuckCause `json:"causes"`
	URL        string       `json:"url"`
}

// stuckCause counts those for one reason.
type stuckCause struct {
	Reason     string `json:"reason"`
	Deliveries int    `json:"deliveries"`
	More       bool   `json:"more,omitempty"`
	DeliveryID string `json:"deliveryId"`
}

// tellStuck hands one event to the engine; none when nothing is held or dead any more.
func (t *issueTeller) tellStuck(ctx context.Context, n store.DeliveryNotice) error {
	at, err := t.db.Endpoint(ctx, n.EndpointID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	causes, total, err := t.db.StuckDeliveries(ctx, at, n.Status)
	if err != nil || total == 0 {
		return err
	}
	data := deliveriesStuck{
		PartnerID: at.PartnerID, EndpointID: at.ID, Endpoint: at.Name, Status: n.Status, Deliveries: min(total, store.ListBound), More: total > store.ListBound,
		FirstAt: n.TellSince, URL: t.base + "/events/v1/deliveries?" + url.Values{"endpointId": {at.ID}, "status": {n.Status}}.Encode(),
	}
	for _, c := range causes {
		data.Causes = append(data.Causes, stuckCause{c.Reason, min(c.Count, store.ListBound), c.Count > store.ListBound, c.Newest.ID})
		data.DeliveryID = max(data.DeliveryID, c.Newest.ID)
	}
	s, err := ownEvent(ctx, t.db, t.base, store.OnlyFor(at.PartnerID), map[string]any{
		"id": fmt.Sprintf("%s-%s-%d", at.ID, n.Status, n.TellAt.UnixMicro()), "type": typeStuck, "subject": at.ID, "partitionkey": at.ID,
		"time": n.TellAt.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json", "data": data,
	})
	if err == nil {
		_, err = t.accept(ctx, s)
	}
	return err
}
