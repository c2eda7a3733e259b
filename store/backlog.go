package store

import (
	"context"
	"fmt"
)

// Backlog counts the deliveries that wait at one endpoint.
type Backlog struct {
	EndpointID string `db:"endpoint_id"`
	Waiting    int    `db:"waiting"` // up to ListBound + 1, which stands for more than ListBound
	OldestDue  Time   `db:"oldest_due"`
}

// Backlogs counts what waits per endpoint, up to [ListBound] + 1 of each. Endpoints at which nothing waits are left out.
func (q *Queries) Backlogs(ctx context.Context) ([]Backlog, error) {
	const waiting = `FROM delivery d WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'retrying')`
	var rows []Backlog
	return rows, q.list(ctx, &rows, fmt.Sprintf(`SELECT endpoint_id, waiting, oldest_due FROM (SELECT e.id AS endpoint_id,
			(SELECT COUNT(*) FROM (SELECT 1 %s LIMIT %d) counted) AS waiting, (SELECT MIN(d.due_at) %s) AS oldest_due FROM endpoint e) each_endpoint
		WHERE waiting > 0`, waiting, ListBound+1, waiting))
}

// BacklogOf counts what waits at one endpoint, up to [ListBound] + 1.
func (q *Queries) BacklogOf(ctx context.Context, endpointID string) (int, error) {
	w := where{}
	w.add(`endpoint_id = ?`, endpointID)
	w.add(`status IN ('pending', 'retrying')`)
	return q.countUpTo(ctx, ListBound+1, `delivery`, w)
}
