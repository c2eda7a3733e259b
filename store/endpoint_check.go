package store

import (
	"context"
	"fmt"
	"time"
)

// Results of a check that are no result of endpointcheck.
const (
	CheckRuns    = ""        // no result yet
	CheckStopped = "stopped" // it ended without a result
)

// MaxEndpointChecks bounds the checks that are kept of an endpoint.
const MaxEndpointChecks = 10

// CheckPatience is the time after which a check that has no result was stopped, as when its node died.
const CheckPatience = 5 * time.Minute

// EndpointCheck records one check of an endpoint against the profile.
type EndpointCheck struct {
	ID            string `db:"id"`
	EndpointID    string `db:"endpoint_id"`
	StartedAt     Time   `db:"started_at"`
	FinishedAt    Time   `db:"finished_at"` // zero while it runs
	StartedBy     string `db:"started_by"`  // the name of a person or client
	Result        string `db:"result"`      // pass, advice, fault or one of the constants
	Faults        int64  `db:"faults"`
	Advice        int64  `db:"advice"`
	ConfigVersion int64  `db:"config_version"` // of the endpoint that was checked
	Report        string `db:"report"`         // JSON of delivery/endpointcheck
}

// Runs reports whether a check is under way at a moment.
func (c EndpointCheck) Runs(now time.Time) bool {
	return c.Result == CheckRuns && now.Sub(c.StartedAt.Time) < CheckPatience
}

// BeginEndpointCheck adds a check of an endpoint, and removes the oldest beyond MaxEndpointChecks. ErrConflict means that one runs.
func (tx *Tx) BeginEndpointCheck(ctx context.Context, c *EndpointCheck) error {
	if err := tx.Lock(ctx, "endpoint", c.EndpointID); err != nil {
		return err
	}
	before, err := tx.EndpointChecks(ctx, c.EndpointID)
	if err != nil {
		return err
	}
	if len(before) > 0 && before[0].Runs(tx.Now.Time) {
		return ErrConflict
	}
	for i := MaxEndpointChecks - 1; i < len(before); i++ {
		if err := tx.do(ctx, `DELETE FROM endpoint_check WHERE id = ?`, before[i].ID); err != nil {
			return fmt.Errorf("remove old check: %w", err)
		}
	}
	c.ID, c.StartedAt = tx.NewID("chk"), tx.Now
	return tx.insert(ctx, "endpoint_check", c)
}

// FinishEndpointCheck writes the result of a check.
func (tx *Tx) FinishEndpointCheck(ctx context.Context, c *EndpointCheck) error {
	c.FinishedAt = tx.Now
	return tx.update(ctx, "endpoint_check", c, "finished_at", "result", "faults", "advice", "report")
}

// EndpointCheck finds a check of an endpoint; another's is ErrNotFound.
func (q *Queries) EndpointCheck(ctx context.Context, endpointID, id string) (EndpointCheck, error) {
	return getOne[EndpointCheck](ctx, q, `SELECT * FROM endpoint_check WHERE endpoint_id = ? AND id = ?`, endpointID, id)
}

// EndpointChecks lists the checks of an endpoint, newest first, without their reports.
func (q *Queries) EndpointChecks(ctx context.Context, endpointID string) ([]EndpointCheck, error) {
	return listOf[EndpointCheck](ctx, q, `SELECT id, endpoint_id, started_at, finished_at, started_by, result, faults, advice, config_version
		FROM endpoint_check WHERE endpoint_id = ? ORDER BY started_at DESC, id DESC LIMIT 100`, endpointID)
}
