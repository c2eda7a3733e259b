package store

import (
	"context"
	"fmt"
	"strings"
)

// EventOrigin selects events of some types from one sender; an empty PartnerID is any sender.
type EventOrigin struct {
	PartnerID string
	Types     []string
	Since     Time   // those accepted before do not count
	For       string // the partner that must be among those an event is for; empty is any event
}

// recentEvents bounds how far back RecentEvents looks, so that a rare type costs no more than a common one.
const recentEvents = 10_000

// RecentEvents lists the newest events of any of the origins, without their data and without test events, newest first and
// at most limit. Only the newest ten thousand events are looked at.
func (q *Queries) RecentEvents(ctx context.Context, origins []EventOrigin, limit int) ([]Event, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	var either []string
	var args []any
	for _, o := range origins {
		if len(o.Types) == 0 {
			continue
		}
		w := where{}
		w.text(`partner_id = ?`, o.PartnerID)
		w.in(`ce_type`, o.Types)
		w.instant(`accepted_at >= ?`, o.Since)
		w.audience(o.For)
		either = append(either, "("+strings.Join(w.conditions, " AND ")+")")
		args = append(args, w.args...)
	}
	if len(either) == 0 {
		return nil, nil
	}
	var rows []Event
	return rows, q.list(ctx, &rows, fmt.Sprintf(`SELECT %s FROM (SELECT %s FROM event ORDER BY id DESC LIMIT %d) recent
		WHERE NOT test AND (%s) ORDER BY id DESC LIMIT %d`, eventSummary, eventSummary, recentEvents, strings.Join(either, " OR "), limit), args...)
}
