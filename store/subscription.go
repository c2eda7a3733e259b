package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"schakel/store/pipe"
)

// States of a subscription: requested → approved → paused/suspended → ended, or rejected.
const (
	SubscriptionRequested = "requested"
	SubscriptionApproved  = "approved"
	SubscriptionPaused    = "paused"    // by the partner: events are kept and wait
	SubscriptionSuspended = "suspended" // by an administrator: no new events, what waits is held
	SubscriptionEnded     = "ended"
	SubscriptionRejected  = "rejected"
)

// Subscription is a partner's wish to get event types at an endpoint.
type Subscription struct {
	ID           string   `db:"id"`
	PartnerID    string   `db:"partner_id"`
	EndpointID   string   `db:"endpoint_id"`
	DatasetID    string   `db:"dataset_id"` // what it is about instead of event types, or empty
	Name         string   `db:"name"`
	Purpose      string   `db:"purpose"`      // what the partner needs the data for
	Filters      string   `db:"filters"`      // JSON list in the dialects of delivery/filter, or empty
	OrderBy      string   `db:"order_by"`     // context attribute by whose value events come in order, or empty
	Dedupe       bool     `db:"dedupe"`       // repeated events are left out
	Retry        string   `db:"retry"`        // how it is retried, JSON, or empty for as the settings say
	Encrypt      string   `db:"encrypt"`      // whom its data is encrypted for, a JWK set or the address of one, or empty
	EncryptSeed  string   `db:"encrypt_seed"` // sealed; what is random in its encryption is derived from it
	Status       string   `db:"status"`
	StatusReason string   `db:"status_reason"`
	Accepting    bool     `db:"accepting"` // new events fan out to it
	Sending      bool     `db:"sending"`   // attempts may start
	CreatedAt    Time     `db:"created_at"`
	UpdatedAt    Time     `db:"updated_at"`
	DecidedAt    Time     `db:"decided_at"`
	DecidedBy    string   `db:"decided_by"`
	Types        []string `db:"-"`
	// Versions lists the lines of versions wanted, by event type; a type that is not in it comes in every version (EDU-08).
	Versions map[string]string `db:"-"`
}

// InsertSubscription adds a subscription with its event types under a new id.
func (tx *Tx) InsertSubscription(ctx context.Context, s *Subscription) error {
	s.ID, s.CreatedAt, s.UpdatedAt = tx.NewID("sub"), tx.Now, tx.Now
	if err := tx.insert(ctx, "subscription", s); err != nil {
		return err
	}
	if err := tx.SetSubscriptionTypes(ctx, s.ID, s.Types, s.Versions); err != nil {
		return err
	}
	return tx.refreshSubscriptions(ctx, "id", s.ID)
}

// UpdateSubscription writes all that may change of a subscription but its types.
func (tx *Tx) UpdateSubscription(ctx context.Context, s *Subscription) error {
	s.UpdatedAt = tx.Now
	err := tx.update(ctx, "subscription", s, "endpoint_id", "name", "purpose", "filters", "order_by", "dedupe", "retry", "encrypt", "encrypt_seed", "status", "status_reason", "updated_at", "decided_at", "decided_by")
	if err != nil {
		return err
	}
	return tx.refreshSubscriptions(ctx, "id", s.ID)
}

// SetSubscriptionTypes replaces the event types of a subscription, with the lines of versions wanted by type.
func (tx *Tx) SetSubscriptionTypes(ctx context.Context, id string, types []string, versions map[string]string) error {
	if _, err := tx.exec(ctx, `DELETE FROM subscription_type WHERE subscription_id = ?`, id); err != nil {
		return err
	}
	for _, t := range types {
		if _, err := tx.exec(ctx, `INSERT INTO subscription_type (subscription_id, event_type, version) VALUES (?, ?, ?)`, id, t, versions[t]); err != nil {
			return err
		}
	}
	return tx.bumpFanout(ctx)
}

// refreshSubscriptions recomputes accepting and sending of the subscriptions whose column has value, in the
// transaction that changed what they depend on, and tells all nodes that fan-out changed.
func (tx *Tx) refreshSubscriptions(ctx context.Context, column, value string) error {
	approved := `(SELECT p.status = 'approved' FROM partner p WHERE p.id = subscription.partner_id)
		AND (SELECT e.status <> 'ended' FROM endpoint e WHERE e.id = subscription.endpoint_id)`
	_, err := tx.exec(ctx, `UPDATE subscription SET
		accepting = ((status IN ('approved', 'paused') OR status = 'requested'
			AND EXISTS (SELECT 1 FROM mutation_follower f WHERE f.subscription_id = subscription.id AND f.reads)) AND `+approved+`),
		sending = (status = 'approved' AND `+approved+`) WHERE `+column+` = ?`, value)
	if err != nil {
		return fmt.Errorf("refresh subscriptions: %w", err)
	}
	return tx.bumpFanout(ctx)
}

// Subscription finds a subscription with its types.
func (q *Queries) Subscription(ctx context.Context, id string) (Subscription, error) {
	var s Subscription
	if err := q.get(ctx, &s, `SELECT * FROM subscription WHERE id = ?`, id); err != nil {
		return s, err
	}
	rows := []Subscription{s}
	err := q.loadTypes(ctx, rows)
	return rows[0], err
}

// SubscriptionStates finds subscriptions by their ids. Of each it reads only the columns that decide whether it may be sent to.
func (q *Queries) SubscriptionStates(ctx context.Context, ids []string) (map[string]Subscription, error) {
	found := make(map[string]Subscription, len(ids))
	for some := range slices.Chunk(ids, mostNames) {
		w := whereIn(`id`, some)
		rows, err := listOf[Subscription](ctx, q, `SELECT id, status, sending FROM subscription`+w.sql(), w.args...)
		if err != nil {
			return nil, fmt.Errorf("read the states of subscriptions: %w", err)
		}
		for _, row := range rows {
			found[row.ID] = row
		}
	}
	return found, nil
}

// SubscriptionFilter selects subscriptions; empty members select all.
type SubscriptionFilter struct {
	PartnerID, EndpointID, Status, EventType string
	DatasetID                                string
	OfTypes                                  bool   // leaves out those to datasets
	OfDatasets                               bool   // leaves out those to event types
	Open                                     bool   // leaves out those that have ended or were rejected
	Before                                   string // those with an id before it, which come behind it
	Page
}

// Subscriptions lists subscriptions with their types, newest first, with their total count.
func (q *Queries) Subscriptions(ctx context.Context, f SubscriptionFilter) ([]Subscription, int, error) {
	w := where{}
	w.text(`partner_id = ?`, f.PartnerID)
	w.text(`endpoint_id = ?`, f.EndpointID)
	w.text(`status = ?`, f.Status)
	w.text(`dataset_id <> '' AND dataset_id = ?`, f.DatasetID) // as the partial index has it
	if f.OfTypes {
		w.add(`dataset_id = ''`)
	}
	if f.OfDatasets {
		w.add(`dataset_id <> ''`)
	}
	if f.Open {
		w.add(`status NOT IN ('ended', 'rejected')`)
	}
	w.text(`id < ?`, f.Before)
	w.text(`id IN (SELECT subscription_id FROM subscription_type WHERE event_type = ?)`, f.EventType)
	rows, total, err := pageOf[Subscription](ctx, q, `*`, `subscription`, w, `id DESC`, f.Page)
	if err != nil || len(rows) == 0 {
		return rows, total, err
	}
	return rows, total, q.loadTypes(ctx, rows)
}

func (q *Queries) loadTypes(ctx context.Context, rows []Subscription) error {
	index, args := make(map[string]int, len(rows)), make([]any, len(rows))
	for i, r := range rows {
		index[r.ID], args[i] = i, r.ID
	}
	var types []struct {
		SubscriptionID string `db:"subscription_id"`
		EventType      string `db:"event_type"`
		Version        string `db:"version"`
	}
	err := q.list(ctx, &types, `SELECT subscription_id, event_type, version FROM subscription_type
		WHERE subscription_id IN (`+marks(len(args))+`) ORDER BY event_type`, args...)
	for _, t := range types {
		r := &rows[index[t.SubscriptionID]]
		r.Types = append(r.Types, t.EventType)
		if t.Version == "" {
			continue
		}
		if r.Versions == nil {
			r.Versions = make(map[string]string)
		}
		r.Versions[t.EventType] = t.Version
	}
	return err
}

// CountSubscriptions counts subscriptions by status.
func (q *Queries) CountSubscriptions(ctx context.Context) (map[string]int, error) {
	return q.countBy(ctx, `SELECT status AS name, COUNT(*) AS n FROM subscription GROUP BY status`)
}

// Route lets events of one type, received from one partner, go to another (guarantee G3).
type Route struct {
	ID            string `db:"id"`
	FromPartnerID string `db:"from_partner_id"`
	ToPartnerID   string `db:"to_partner_id"`
	EventType     string `db:"event_type"`
	CreatedAt     Time   `db:"created_at"`
	CreatedBy     string `db:"created_by"`
}

// InsertRoute adds a route; a second one alike is ErrConflict.
func (tx *Tx) InsertRoute(ctx context.Context, r *Route) error {
	r.ID, r.CreatedAt = tx.NewID("rte"), tx.Now
	if err := tx.insert(ctx, "route", r); err != nil {
		return err
	}
	return tx.bumpFanout(ctx)
}

// DeleteRoute removes a route.
func (tx *Tx) DeleteRoute(ctx context.Context, id string) error {
	if err := tx.one(ctx, `DELETE FROM route WHERE id = ?`, id); err != nil {
		return err
	}
	return tx.bumpFanout(ctx)
}

// Routes lists all routes, newest first.
func (q *Queries) Routes(ctx context.Context) ([]Route, error) {
	return listOf[Route](ctx, q, `SELECT * FROM route ORDER BY id DESC`)
}

// FanoutEpoch names the state of what decides fan-out; a node whose index is of another must read it again.
func (q *Queries) FanoutEpoch(ctx context.Context) (string, error) {
	const query = `SELECT value FROM setting WHERE name = 'fanout_epoch'`
	if q.dialect == Postgres {
		var answer pipe.Statement
		if _, err := q.in(ctx).ExecContext(ctx, query, &answer); err != nil || len(answer.First) == 0 {
			return "", cmp.Or(err, ErrNotFound)
		}
		return answer.First[0], nil
	}
	return getOne[string](ctx, q, query)
}

func (tx *Tx) bumpFanout(ctx context.Context) error {
	if err := tx.Notify(ctx, NotifyChanged); err != nil {
		return err
	}
	// No value comes twice: one that was read in a transaction and then rolled back must not become that of another change.
	return tx.one(ctx, `UPDATE setting SET value = ?, updated_at = ? WHERE name = 'fanout_epoch'`, tx.NewID("epc"), tx.Now)
}

// NotifyChanged notifies nodes that the fan-out epoch moved.
const NotifyChanged = "changed"

// FanoutTarget is one event type of one subscription that accepts events.
type FanoutTarget struct {
	EventType      string `db:"event_type"`
	Version        string `db:"version"` // the line of versions it wants; empty for all
	SubscriptionID string `db:"subscription_id"`
	PartnerID      string `db:"partner_id"`
	EndpointID     string `db:"endpoint_id"`
	Filters        string `db:"filters"`
	OrderBy        string `db:"order_by"`
	Dedupe         bool   `db:"dedupe"`  // repeated events are left out
	Sending        bool   `db:"sending"` // attempts may start
	Own            bool   `db:"own"`     // the subscription is the own organisation's
	HerID          int64  `db:"her_id"`  // of the health party behind the endpoint; 0 for none
}

// FanoutTargets lists where events go.
func (q *Queries) FanoutTargets(ctx context.Context) ([]FanoutTarget, error) {
	return listOf[FanoutTarget](ctx, q, `SELECT t.event_type, t.version, s.id AS subscription_id, s.partner_id, s.endpoint_id, s.filters, s.order_by, s.dedupe, s.sending, p.own,
			COALESCE(a.her_id, 0) AS her_id
		FROM subscription s JOIN subscription_type t ON t.subscription_id = s.id JOIN partner p ON p.id = s.partner_id
			LEFT JOIN amqp_party a ON a.endpoint_id <> '' AND a.endpoint_id = s.endpoint_id AND a.kind = 'health'
		WHERE s.accepting ORDER BY t.event_type, s.id`)
}

// Passages decides between whom events may go (guarantee G3). The delivery engine and the pages ask the same.
type Passages map[passage]struct{}

type passage struct{ from, to, eventType string }

// NewPassages makes the decision of all routes.
func NewPassages(routes []Route) Passages {
	p := make(Passages, len(routes))
	for _, r := range routes {
		p[passage{r.FromPartnerID, r.ToPartnerID, r.EventType}] = struct{}{}
	}
	return p
}

// May reports whether events of a type go from one partner to a subscription of another: those of the own organisation go to
// everybody, everybody's go to the own organisation, and all others go along a route.
func (p Passages) May(from string, fromOwn bool, to string, toOwn bool, eventType string) bool {
	if fromOwn || toOwn {
		return true
	}
	_, routed := p[passage{from, to, eventType}]
	return routed
}

// SubscribersOf lists the partners, without the own organisation, with an approved or paused subscription to an event type.
func (q *Queries) SubscribersOf(ctx context.Context, eventType string) ([]Partner, error) {
	return listOf[Partner](ctx, q, `SELECT * FROM partner WHERE own = ? AND id IN (SELECT s.partner_id FROM subscription s
		JOIN subscription_type t ON t.subscription_id = s.id WHERE t.event_type = ? AND s.accepting = ?) ORDER BY id`, false, eventType, true)
}
