package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// TrafficPeriod is a time up to now that a chart shows, in points of one step.
type TrafficPeriod struct {
	Length, Step time.Duration
	Span         TrafficSpan // of the rows that are read
}

// The periods of charts. Each has 48 to 60 points, and reads at most 720 rows of an endpoint.
var (
	LastHour  = TrafficPeriod{time.Hour, time.Minute, ByMinute}
	LastDay   = TrafficPeriod{24 * time.Hour, 30 * time.Minute, ByQuarter}
	LastWeek  = TrafficPeriod{7 * 24 * time.Hour, 3 * time.Hour, ByHour}
	LastMonth = TrafficPeriod{30 * 24 * time.Hour, 12 * time.Hour, ByHour}
)

// Before returns the moment at which the period before this one ended, of the same length.
func (p TrafficPeriod) Before(now Time) Time { return At(now.Add(-p.Length)) }

// lastDayByHour is the period of the small charts in lists.
var lastDayByHour = TrafficPeriod{24 * time.Hour, time.Hour, ByHour}

// points returns when the first point of a period begins, and their number. The last one is the one that goes on.
func (p TrafficPeriod) points(now time.Time) (from time.Time, n int) {
	n = int(p.Length / p.Step)
	return now.UTC().Truncate(p.Step).Add(-time.Duration(n-1) * p.Step), n
}

// trafficRow is a row of table traffic, or a sum of some.
type trafficRow struct {
	EndpointID string `db:"endpoint_id"`
	At         int64  `db:"at"`
	Accepted   int64  `db:"accepted"`
	Made       int64  `db:"made"`
	Delivered  int64  `db:"delivered"`
	Failed     int64  `db:"failed"`
	Dead       int64  `db:"dead"`
	Pending    int64  `db:"pending"`
	Oldest     int64  `db:"oldest"`
	L0         int64  `db:"l0"`
	L1         int64  `db:"l1"`
	L2         int64  `db:"l2"`
	L3         int64  `db:"l3"`
	L4         int64  `db:"l4"`
	L5         int64  `db:"l5"`
	L6         int64  `db:"l6"`
	L7         int64  `db:"l7"`
	L8         int64  `db:"l8"`
	L9         int64  `db:"l9"`
	L10        int64  `db:"l10"`
	L11        int64  `db:"l11"`
	L12        int64  `db:"l12"`
	L13        int64  `db:"l13"`
	L14        int64  `db:"l14"`
	L15        int64  `db:"l15"`
}

func (r *trafficRow) traffic() Traffic {
	return Traffic{
		EndpointID: r.EndpointID, At: time.UnixMicro(r.At).UTC(), Accepted: r.Accepted, Made: r.Made, Delivered: r.Delivered, Failed: r.Failed, Dead: r.Dead,
		Pending: r.Pending, Oldest: time.Duration(r.Oldest) * time.Microsecond,
		Latency: Latencies{r.L0, r.L1, r.L2, r.L3, r.L4, r.L5, r.L6, r.L7, r.L8, r.L9, r.L10, r.L11, r.L12, r.L13, r.L14, r.L15},
	}
}

// sumsOf sums up the counts of rows in SQL. PostgreSQL sums to another type than it counts in.
var sumsOf = func() string {
	names := strings.Split(trafficSums, ", ")
	for i, n := range names {
		names[i] = `CAST(SUM(` + n + `) AS BIGINT) AS ` + n
	}
	return strings.Join(names, ", ")
}()

// AllEndpoints stands in [Queries.Traffic] for all endpoints together, with the events that came in.
const AllEndpoints = ""

// Traffic returns the points of a period up to now, oldest first, of the endpoints named taken together; of none nothing moved.
// It reads a number of rows that depends on the endpoints and the period, not on how much moved. The samples of several
// endpoints are added up as if each had its most at the same time.
func (q *Queries) Traffic(ctx context.Context, endpointIDs []string, period TrafficPeriod, now Time) ([]Traffic, error) {
	from, n := period.points(now.Time)
	sampled, err := q.trafficRows(ctx, []string{AllEndpoints}, period, from, n)
	if err != nil {
		return nil, err
	}
	var rows []trafficRow
	if len(endpointIDs) > 0 {
		if rows, err = q.trafficRows(ctx, endpointIDs, period, from, n); err != nil {
			return nil, err
		}
	}
	points := make([]Traffic, n)
	for i := range points {
		points[i] = Traffic{At: from.Add(time.Duration(i) * period.Step), Pending: -1}
	}
	index := func(r *trafficRow) int { return int(time.UnixMicro(r.At).Sub(from) / period.Step) }
	for i := range rows {
		if at := index(&rows[i]); at >= 0 && at < n {
			points[at] = rows[i].traffic()
		}
	}
	for i := range sampled { // an endpoint at which nothing waits has no row of a sample
		if at := index(&sampled[i]); at >= 0 && at < n && sampled[i].Pending >= 0 {
			points[at].Pending = max(points[at].Pending, 0)
		}
	}
	return points, nil
}

func (q *Queries) trafficRows(ctx context.Context, endpointIDs []string, period TrafficPeriod, from time.Time, n int) ([]trafficRow, error) {
	step := period.Step.Microseconds()
	args := []any{step, step}
	for _, id := range endpointIDs {
		args = append(args, id)
	}
	rows, err := listOf[trafficRow](ctx, q, `SELECT '' AS endpoint_id, at, `+sumsOf+`, MAX(pending) AS pending, MAX(oldest) AS oldest
		FROM (SELECT at / ? * ? AS at, CAST(SUM(CASE WHEN pending > 0 THEN pending ELSE 0 END) + MIN(CASE WHEN pending < 0 THEN -1 ELSE 0 END) AS BIGINT) AS pending,
			MAX(oldest) AS oldest, `+sumsOf+` FROM traffic
			WHERE endpoint_id IN (`+marks(len(endpointIDs))+`) AND span = ? AND at >= ? AND at < ? GROUP BY traffic.at) each_span GROUP BY at`,
		append(args, period.Span.seconds(), from.UnixMicro(), from.Add(time.Duration(n)*period.Step).UnixMicro())...)
	if err != nil {
		return nil, fmt.Errorf("read counts of traffic: %w", err)
	}
	return rows, nil
}

// TrafficOfEach returns the counts of the last 24 hours of each endpoint by the hour, oldest first; endpoints of which nothing
// was counted are left out.
func (q *Queries) TrafficOfEach(ctx context.Context, endpointIDs []string, now Time) (map[string][]Traffic, error) {
	found := make(map[string][]Traffic)
	if len(endpointIDs) == 0 {
		return found, nil
	}
	from, n := lastDayByHour.points(now.Time)
	w := whereIn(`endpoint_id`, endpointIDs)
	w.add(`span = ? AND at >= ?`, ByHour.seconds(), from.UnixMicro())
	rows, err := listOf[trafficRow](ctx, q, `SELECT endpoint_id, at, pending, oldest, `+trafficSums+` FROM traffic`+w.sql(), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read counts of traffic: %w", err)
	}
	for i := range rows {
		r := &rows[i]
		if found[r.EndpointID] == nil {
			found[r.EndpointID] = make([]Traffic, n)
		}
		if at := int(time.UnixMicro(r.At).Sub(from) / time.Hour); at >= 0 && at < n {
			found[r.EndpointID][at] = r.traffic()
		}
	}
	return found, nil
}

// TrafficOfPartners returns the same of all endpoints together of each partner, those that have ended too, without samples and
// latencies. EndpointID of the points is empty.
func (q *Queries) TrafficOfPartners(ctx context.Context, partnerIDs []string, now Time) (map[string][]Traffic, error) {
	found := make(map[string][]Traffic)
	if len(partnerIDs) == 0 {
		return found, nil
	}
	from, n := lastDayByHour.points(now.Time)
	w := whereIn(`e.partner_id`, partnerIDs)
	w.add(`t.span = ? AND t.at >= ?`, ByHour.seconds(), from.UnixMicro())
	rows, err := listOf[partnerTraffic](ctx, q, `SELECT e.partner_id, t.at, CAST(SUM(t.made) AS BIGINT) AS made, CAST(SUM(t.delivered) AS BIGINT) AS delivered,
		CAST(SUM(t.failed) AS BIGINT) AS failed, CAST(SUM(t.dead) AS BIGINT) AS dead
		FROM endpoint e JOIN traffic t ON t.endpoint_id = e.id`+w.sql()+` GROUP BY e.partner_id, t.at`, w.args...)
	if err != nil {
		return nil, fmt.Errorf("read counts of traffic of partners: %w", err)
	}
	for _, r := range rows {
		if found[r.PartnerID] == nil {
			found[r.PartnerID] = make([]Traffic, n)
		}
		at := time.UnixMicro(r.At).UTC()
		if i := int(at.Sub(from) / time.Hour); i >= 0 && i < n {
			found[r.PartnerID][i] = Traffic{At: at, Made: r.Made, Delivered: r.Delivered, Failed: r.Failed, Dead: r.Dead}
		}
	}
	return found, nil
}

type partnerTraffic struct {
	PartnerID string `db:"partner_id"`
	At        int64  `db:"at"`
	Made      int64  `db:"made"`
	Delivered int64  `db:"delivered"`
	Failed    int64  `db:"failed"`
	Dead      int64  `db:"dead"`
}

// SampleWaiting notes what waits at each endpoint now, unless a node did so in this minute. It reads up to [ListBound] + 1
// deliveries of each, those first that are due first.
func (db *DB) SampleWaiting(ctx context.Context) error {
	now := At(db.now())
	minute := now.Truncate(time.Minute)
	pending, err := getOne[int64](ctx, &db.Queries, `SELECT pending FROM traffic WHERE endpoint_id = '' AND span = ? AND at = ?`, ByMinute.seconds(), minute.UnixMicro())
	if err != nil && !errors.Is(err, ErrNotFound) || err == nil && pending >= 0 {
		return err
	}
	samples, err := db.waitingSamples(ctx)
	if err != nil {
		return err
	}
	all := Traffic{At: minute}
	rows := make([]Traffic, 0, len(samples)+1)
	for _, s := range samples {
		age := max(0, now.Sub(s.Oldest.Time))
		rows = append(rows, Traffic{EndpointID: s.EndpointID, At: minute, Pending: s.Waiting, Oldest: age})
		all.Pending, all.Oldest = all.Pending+s.Waiting, max(all.Oldest, age)
	}
	return db.Write(ctx, func(tx *Tx) error { return tx.AddTraffic(ctx, append(rows, all)) })
}

type waitingSample struct {
	EndpointID string `db:"endpoint_id"`
	Waiting    int64  `db:"waiting"`
	Oldest     Time   `db:"oldest"`
}

func (q *Queries) waitingSamples(ctx context.Context) ([]waitingSample, error) {
	const waiting = `FROM delivery d WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'retrying')`
	rows, err := listOf[waitingSample](ctx, q, fmt.Sprintf(`SELECT endpoint_id, waiting, oldest FROM (SELECT e.id AS endpoint_id,
			(SELECT COUNT(*) FROM (SELECT 1 %s LIMIT %d) counted) AS waiting,
			(SELECT MIN(created_at) FROM (SELECT d.created_at %s ORDER BY d.behind, d.due_at LIMIT %d) first_due) AS oldest FROM endpoint e) each_endpoint
		WHERE waiting > 0`, waiting, ListBound+1, waiting, ListBound+1))
	if err != nil {
		return nil, fmt.Errorf("sample what waits: %w", err)
	}
	return rows, nil
}

// Quantile estimates the time within which the part q of the deliveries arrived, as if those of a bucket lay evenly in it. over
// reports that it lies above the last bound, which is returned then. Without deliveries ok is false.
func (l *Latencies) Quantile(q float64) (d time.Duration, over, ok bool) {
	var all int64
	for _, n := range l {
		all += n
	}
	if all == 0 {
		return 0, false, false
	}
	rank := q * float64(all)
	var low time.Duration
	var seen float64
	for i, bound := range LatencyBounds {
		n := float64(l[i])
		if n > 0 && seen+n >= rank {
			return low + time.Duration(float64(bound-low)*(rank-seen)/n), false, true
		}
		seen, low = seen+n, bound
	}
	return low, true, true
}
