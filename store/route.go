package store

import (
	"cmp"
	"context"

	"schakel/store/pipe"
)

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
	var rows []Route
	return rows, q.list(ctx, &rows, `SELECT * FROM route ORDER BY id DESC`)
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
	var epoch string
	return epoch, q.get(ctx, &epoch, query)
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
}

// FanoutTargets lists where events go.
func (q *Queries) FanoutTargets(ctx context.Context) ([]FanoutTarget, error) {
	var rows []FanoutTarget
	return rows, q.list(ctx, &rows, `SELECT t.event_type, t.version, s.id AS subscription_id, s.partner_id, s.endpoint_id, s.filters, s.order_by, s.dedupe, s.sending, p.own
		FROM subscription s JOIN subscription_type t ON t.subscription_id = s.id JOIN partner p ON p.id = s.partner_id
		WHERE s.accepting ORDER BY t.event_type, s.id`)
}

// Setting reads a setting of the installation, or "" when it is not set.
func (q *Queries) Setting(ctx context.Context, name string) (string, error) {
	var value string
	err := q.get(ctx, &value, `SELECT value FROM setting WHERE name = ?`, name)
	if err == ErrNotFound {
		err = nil
	}
	return value, err
}

// SetSetting writes a setting of the installation.
func (tx *Tx) SetSetting(ctx context.Context, name, value string) error {
	_, err := tx.exec(ctx, `INSERT INTO setting (name, value, updated_at) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`, name, value, tx.Now)
	return err
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
