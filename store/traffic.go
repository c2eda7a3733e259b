package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"schakel/registry/sorted"
)

// Traffic counts what moved in one span of time, of an endpoint or, with an empty EndpointID, of all.
type Traffic struct {
	EndpointID string
	At         time.Time // when the span begins
	Accepted   int64     // events that came in; only of all endpoints together
	Made       int64     // new deliveries
	Delivered  int64
	Failed     int64 // attempts, whatever became of the delivery
	Dead       int64 // deliveries
	// Pending is the most that waited at a sample, of which each endpoint gives up to [ListBound] + 1; -1 without a sample.
	Pending int64
	Oldest  time.Duration // age of the oldest of these, at most
	Latency Latencies

	took time.Duration // of all that arrived, while it is counted
}

// Latencies counts deliveries that arrived, by the time since they were accepted: index i those that took at most
// LatencyBounds[i] and longer than the bound before; the last one all that took longer.
type Latencies [len(LatencyBounds) + 1]int64

// LatencyBounds are the upper bounds of [Latencies]. The columns l0 to l15 of table traffic are counted by them: a change would
// falsify what is stored.
var LatencyBounds = [...]time.Duration{
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 3 * time.Hour,
}

// Add counts one delivery.
func (l *Latencies) Add(took time.Duration) {
	i, _ := slices.BinarySearch(LatencyBounds[:], took)
	l[i]++
}

// add adds the counts of another.
func (t *Traffic) add(o *Traffic) {
	t.Accepted, t.Made, t.Delivered, t.Failed, t.Dead = t.Accepted+o.Accepted, t.Made+o.Made, t.Delivered+o.Delivered, t.Failed+o.Failed, t.Dead+o.Dead
	for i, n := range o.Latency {
		t.Latency[i] += n
	}
	t.took += o.took
}

// SumTraffic adds points up; Pending and Oldest are the highest.
func SumTraffic(points []Traffic) Traffic {
	sum := Traffic{Pending: -1}
	for i := range points {
		sum.add(&points[i])
		sum.Pending, sum.Oldest = max(sum.Pending, points[i].Pending), max(sum.Oldest, points[i].Oldest)
	}
	return sum
}

// tally counts what a transaction, or a process since the last flush, did.
type tally map[tallyKey]*Traffic

type tallyKey struct {
	endpoint string
	minute   int64 // Unix time
}

// of returns the counts of an endpoint at a moment.
func (t *tally) of(endpointID string, at time.Time) *Traffic {
	if *t == nil {
		*t = make(tally)
	}
	key := tallyKey{endpointID, at.Unix() / 60}
	c := (*t)[key]
	if c == nil {
		c = &Traffic{EndpointID: endpointID, At: at.UTC().Truncate(time.Minute), Pending: -1}
		(*t)[key] = c
	}
	return c
}

func (t *tally) merge(o tally) {
	for _, c := range o {
		t.of(c.EndpointID, c.At).add(c)
	}
}

// traffic holds what this process counted and did not yet write. What a transaction counts comes in when it is committed, so
// nothing is counted that was undone.
type traffic struct {
	mu      sync.Mutex
	waiting tally
	arrived map[string]*Arrivals // by endpoint, since the start of the process
}

// Arrivals counts deliveries that arrived by their latency, with the sum of these.
type Arrivals struct {
	Latency Latencies
	Sum     time.Duration
}

// Add adds the arrivals of another.
func (a *Arrivals) Add(o Arrivals) {
	for i, n := range o.Latency {
		a.Latency[i] += n
	}
	a.Sum += o.Sum
}

func (t *traffic) commit(tx *Tx) {
	if len(tx.counted) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting.merge(tx.counted)
	for _, c := range tx.counted {
		if c.Delivered <= 0 {
			continue // counters of metrics do not go back
		}
		if t.arrived[c.EndpointID] == nil {
			if t.arrived == nil {
				t.arrived = make(map[string]*Arrivals)
			}
			t.arrived[c.EndpointID] = new(Arrivals)
		}
		t.arrived[c.EndpointID].Add(Arrivals{c.Latency, c.took})
	}
}

// counts collects the counts of one transaction, as part of a Tx.
type counts struct {
	counted tally
	last    *Traffic // of counted, that was asked for last
}

// counting returns the counts of an endpoint in this transaction; those of all endpoints together for "".
func (tx *Tx) counting(endpointID string) *Traffic {
	if tx.last == nil || tx.last.EndpointID != endpointID { // mostly it is the same as before
		tx.last = tx.counted.of(endpointID, tx.Now.Time)
	}
	return tx.last
}

// include adds what earlier steps of the same transaction counted.
func (tx *Tx) include(earlier counts) {
	tx.last = nil
	tx.counted.merge(earlier.counted)
}

// countAllArrived counts deliveries that arrived just now.
func (tx *Tx) countAllArrived(rows []Delivery) {
	for i := range rows {
		tx.countArrived(rows[i].EndpointID, rows[i].CreatedAt)
	}
}

// countFailed counts an attempt that failed at each of these deliveries.
func (tx *Tx) countFailed(rows []Delivery) {
	for i := range rows {
		tx.counting(rows[i].EndpointID).Failed++
	}
}

// countArrived counts a delivery that was made at a moment and arrived now. One whose moment is not known has no latency.
func (tx *Tx) countArrived(endpointID string, made Time) {
	c := tx.counting(endpointID)
	c.Delivered++
	if !made.IsZero() {
		took := max(0, tx.Now.Sub(made.Time))
		c.took += took
		c.Latency.Add(took)
	}
}

// countRefused takes back that a delivery arrived, at the moment it did, and counts a failed attempt now: its receiver refused afterwards
// what it had been handed.
func (tx *Tx) countRefused(d *Delivery) {
	if !d.DeliveredAt.IsZero() {
		c := tx.counted.of(d.EndpointID, d.DeliveredAt.Time)
		took := max(0, d.DeliveredAt.Sub(d.CreatedAt.Time))
		i, _ := slices.BinarySearch(LatencyBounds[:], took)
		c.Delivered, c.took, c.Latency[i] = c.Delivered-1, c.took-took, c.Latency[i]-1
	}
	tx.counting(d.EndpointID).Failed++
}

// Arrived counts the deliveries that arrived since the start of the process, by endpoint.
func (db *DB) Arrived() map[string]Arrivals {
	db.traffic.mu.Lock()
	defer db.traffic.mu.Unlock()
	all := make(map[string]Arrivals, len(db.traffic.arrived))
	for id, a := range db.traffic.arrived {
		all[id] = *a
	}
	return all
}

// trafficStep bounds the endpoints and minutes of one transaction of FlushTraffic.
const trafficStep = 200

// FlushTraffic writes what this process counted since the last flush. A crash loses what was counted and not written; what
// cannot be written now is written by a later call.
func (db *DB) FlushTraffic(ctx context.Context) error {
	db.traffic.mu.Lock()
	waiting := db.traffic.waiting
	db.traffic.waiting = nil
	db.traffic.mu.Unlock()
	for rows := range slices.Chunk(slices.Collect(maps.Values(waiting)), trafficStep) {
		chunk := make([]Traffic, 0, len(rows))
		for _, c := range rows {
			chunk = append(chunk, *c)
		}
		if err := db.Write(ctx, func(tx *Tx) error { return tx.AddTraffic(ctx, chunk) }); err != nil {
			db.traffic.mu.Lock()
			db.traffic.waiting.merge(waiting)
			db.traffic.mu.Unlock()
			return fmt.Errorf("write counts of traffic: %w", err)
		}
		for _, c := range rows {
			delete(waiting, tallyKey{c.EndpointID, c.At.Unix() / 60})
		}
	}
	return nil
}

// TrafficSpan is the length of the spans that are counted together.
type TrafficSpan time.Duration

// The spans. Each count is written to all three, which are kept for as long as charts show them: so nothing needs to be rolled
// up, and a sum over hours is that over their minutes.
const (
	ByMinute  = TrafficSpan(time.Minute)      // kept 3 hours
	ByQuarter = TrafficSpan(15 * time.Minute) // kept 2 days
	ByHour    = TrafficSpan(time.Hour)        // kept as long as PruneTraffic is told
)

var spans = [...]TrafficSpan{ByMinute, ByQuarter, ByHour}

func (s TrafficSpan) seconds() int64 { return int64(time.Duration(s) / time.Second) }

// kept returns from when on the rows of a span are kept, when hours are kept from a moment on.
func (s TrafficSpan) kept(now, hours Time) Time {
	switch s {
	case ByMinute:
		return At(now.Add(-3 * time.Hour))
	case ByQuarter:
		return At(now.Add(-48 * time.Hour))
	}
	return hours
}

const trafficSums = `accepted, made, delivered, failed, dead, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15`

// addTraffic inserts a row or adds to it. Samples are no sums: the most counts.
var addTraffic = func() string {
	names := strings.Split(trafficSums, ", ")
	for i, n := range names {
		names[i] = n + ` = traffic.` + n + ` + excluded.` + n
	}
	for _, n := range []string{"pending", "oldest"} {
		names = append(names, n+` = CASE WHEN excluded.`+n+` > traffic.`+n+` THEN excluded.`+n+` ELSE traffic.`+n+` END`)
	}
	return `INSERT INTO traffic (endpoint_id, span, at, pending, oldest, ` + trafficSums + `) VALUES (?, ?, ?, ?, ?` + strings.Repeat(", ?", len(names)-2) + `)
		ON CONFLICT (endpoint_id, span, at) DO UPDATE SET ` + strings.Join(names, ", ")
}()

// AddTraffic adds counts to those of their endpoints, spans and all endpoints together; any number of nodes may do so. Of all
// together a row gives only Accepted, Pending and Oldest itself: the rest follows from its endpoints.
func (tx *Tx) AddTraffic(ctx context.Context, rows []Traffic) error {
	type key struct {
		endpoint string
		span     TrafficSpan
		at       int64
	}
	sums := make(map[key]*Traffic)
	add := func(endpoint string, row *Traffic, sample bool) {
		for _, span := range spans {
			at := row.At.UTC().Truncate(time.Duration(span))
			k := key{endpoint, span, at.UnixMicro()}
			if sums[k] == nil {
				sums[k] = &Traffic{EndpointID: endpoint, At: at, Pending: -1}
			}
			sums[k].add(row)
			if sample {
				sums[k].Pending, sums[k].Oldest = max(sums[k].Pending, row.Pending), max(sums[k].Oldest, row.Oldest)
			}
		}
	}
	for i := range rows {
		add(rows[i].EndpointID, &rows[i], true)
		if rows[i].EndpointID != "" {
			add("", &rows[i], false)
		}
	}
	// In one order, so that two nodes do not wait for each other.
	keys := slices.Collect(maps.Keys(sums))
	sorted.By(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.endpoint, b.endpoint), cmp.Compare(a.span, b.span), cmp.Compare(a.at, b.at))
	})
	for _, k := range keys {
		c := sums[k]
		args := []any{k.endpoint, k.span.seconds(), k.at, c.Pending, c.Oldest.Microseconds(), c.Accepted, c.Made, c.Delivered, c.Failed, c.Dead}
		for _, n := range c.Latency {
			args = append(args, n)
		}
		if err := tx.later(ctx, addTraffic, args...); err != nil {
			return fmt.Errorf("add counts of traffic: %w", err)
		}
	}
	return nil
}

// PruneTraffic removes counts by the hour of before a moment, and finer ones that are older than charts show.
func (tx *Tx) PruneTraffic(ctx context.Context, before Time, _ string, limit int) (Pruned, error) {
	var gone int64
	for _, span := range spans {
		n, err := tx.exec(ctx, `DELETE FROM traffic WHERE (endpoint_id, span, at) IN
			(SELECT endpoint_id, span, at FROM traffic WHERE span = ? AND at < ? ORDER BY at LIMIT ?)`,
			span.seconds(), span.kept(tx.Now, before), limit-int(gone))
		if err != nil {
			return Pruned{}, fmt.Errorf("delete from traffic: %w", err)
		}
		if gone += n; gone >= int64(limit) {
			return Pruned{Rows: gone}, nil
		}
	}
	return Pruned{Rows: gone, Done: true}, nil
}
