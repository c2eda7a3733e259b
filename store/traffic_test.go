package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"schakel/store"
)

// sum adds up points.
func sum(points []store.Traffic) (s store.Traffic) {
	for _, p := range points {
		s.Accepted, s.Made, s.Delivered, s.Failed, s.Dead = s.Accepted+p.Accepted, s.Made+p.Made, s.Delivered+p.Delivered, s.Failed+p.Failed, s.Dead+p.Dead
		s.Pending, s.Oldest = max(s.Pending, p.Pending), max(s.Oldest, p.Oldest)
		for i, n := range p.Latency {
			s.Latency[i] += n
		}
	}
	return s
}

func (w *world) traffic(period store.TrafficPeriod, endpoints ...string) store.Traffic {
	w.t.Helper()
	noErr(w.t, w.db.FlushTraffic(w.ctx))
	points, err := w.db.Traffic(w.ctx, endpoints, period, w.now())
	same(w.t, len(points), err, int(period.Length/period.Step))
	return sum(points)
}

// One delivery arrives, one fails and one dies; each is counted once in every span, of its endpoint and of all.
func TestTrafficCountsWhatIsCommitted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 3)
		w.claim("a", 3)
		made := w.now()
		w.clock.Advance(40 * time.Millisecond)
		outcomes := []store.Outcome{
			w.outcome(ids[0], "a", store.Delivery{Status: store.DeliveryDelivered, LastStatus: 202, CreatedAt: made}),
			w.outcome(ids[1], "a", store.Delivery{Status: store.DeliveryRetrying, DueAt: w.in(time.Minute)}),
			w.outcome(ids[2], "a", store.Delivery{Status: store.DeliveryDead}),
		}
		for i := range outcomes {
			outcomes[i].Delivery.EndpointID = w.endpoint.ID
		}
		w.fails(errStop, func(tx *store.Tx) error { return errors.Join(tx.Complete(w.ctx, outcomes), errStop) })
		w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, outcomes) })
		want := store.Traffic{Made: 3, Delivered: 1, Failed: 2, Dead: 1, Latency: store.Latencies{2: 1}}
		same(t, w.db.Arrived(), nil, map[string]store.Arrivals{w.endpoint.ID: {Latency: want.Latency, Sum: 40 * time.Millisecond}})
		all := want
		all.Accepted = 3
		for _, period := range []store.TrafficPeriod{store.LastHour, store.LastDay, store.LastWeek, store.LastMonth} {
			same(t, w.traffic(period, w.endpoint.ID), nil, want)
			same(t, w.traffic(period), nil, store.Traffic{})
			same(t, w.traffic(period, store.AllEndpoints), nil, all)
			same(t, w.traffic(period, "end_other"), nil, store.Traffic{})
		}
	})
}

// What its receiver refused after it was handed over, by an AppRec, counts as failed and no longer as delivered, also in the minute of before.
// The counters of metrics do not go back.
func TestTrafficOfWhatIsRefusedLater(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := w.newDeliveries(w.subscription, 2)
		w.claim("a", 2)
		made := w.now()
		w.clock.Advance(40 * time.Millisecond)
		var outcomes []store.Outcome
		for _, id := range ids {
			o := w.outcome(id, "a", store.Delivery{Status: store.DeliveryDelivered, LastStatus: 202, CreatedAt: made})
			o.Delivery.EndpointID = w.endpoint.ID
			outcomes = append(outcomes, o)
		}
		w.write(func(tx *store.Tx) error { return tx.Complete(w.ctx, outcomes) })
		w.clock.Advance(3 * time.Minute)
		refused := store.AMQPMessage{Direction: store.AMQPOut, Kind: store.AMQPBusiness, Status: store.AMQPRejected, Reason: "T02", MessageID: "m", DeliveryID: ids[0]}
		w.write(func(tx *store.Tx) error { return tx.InsertAMQPMessage(w.ctx, &refused) })
		w.write(func(tx *store.Tx) error { _, err := tx.HoldAMQPRefused(w.ctx, 10); return err })
		for _, period := range []store.TrafficPeriod{store.LastHour, store.LastDay, store.LastWeek} {
			same(t, w.traffic(period, w.endpoint.ID), nil, store.Traffic{Made: 2, Delivered: 1, Failed: 1, Latency: store.Latencies{2: 1}})
		}
		same(t, w.db.Arrived()[w.endpoint.ID].Latency, nil, store.Latencies{2: 2})
	})
}

// What a step of an operation counted that was undone does not count, and the rest when it commits.
func TestTrafficOfOperations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, o := w.db.Operation(w.ctx, func(*store.Tx) error { return nil })
		insert := func(id string, err error) error {
			return w.db.Write(ctx, func(tx *store.Tx) error {
				_, inserted := tx.InsertEvents(ctx, []store.Event{w.event(id)})
				return errors.Join(inserted, err)
			})
		}
		noErr(t, insert("evt_1", nil))
		if err := insert("evt_2", errStop); !errors.Is(err, errStop) {
			t.Error(err)
		}
		noErr(t, insert("evt_3", nil))
		same(t, w.traffic(store.LastHour, store.AllEndpoints).Accepted, nil, 0)
		noErr(t, o.Commit(func(*store.Tx) error { return nil }))
		same(t, w.traffic(store.LastHour, store.AllEndpoints).Accepted, nil, 2)
	})
}

// Every verb of a consumer that fetches counts.
func TestTrafficOfPull(t *testing.T) {
	eachPuller(t, func(t *testing.T, p *puller) {
		p.newDeliveries(p.sub, 4)
		locks := p.receive(3)
		p.acknowledge(locks[:1], store.PullDone)
		p.acknowledge(locks[:1], store.PullDone) // the same once more changes nothing
		p.release(locks[1:2], time.Hour, store.PullDone)
		p.settle([]store.PullVerdict{store.PullDone}, func(tx *store.Tx) ([]store.PullVerdict, error) { return tx.PullReject(p.ctx, p.sub.ID, locks[2:]) })
		p.receive(1)
		p.clock.Advance(2 * time.Minute)
		p.receive(1) // its lease ended
		got := p.traffic(store.LastHour, p.sub.EndpointID)
		same(t, got, nil, store.Traffic{Made: 4, Delivered: 1, Failed: 3, Latency: store.Latencies{1}})
	})
}

func TestTrafficSamplesWhatWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.newEndpoint(w.partner.ID)
		w.newDeliveries(w.subscription, 2)
		w.clock.Advance(5 * time.Minute)
		noErr(t, w.db.SampleWaiting(w.ctx))
		w.newDeliveries(w.subscription, 5)
		noErr(t, w.db.SampleWaiting(w.ctx)) // this minute has a sample
		same(t, w.traffic(store.LastHour, w.endpoint.ID).Pending, nil, 2)
		w.clock.Advance(time.Minute)
		noErr(t, w.db.SampleWaiting(w.ctx))
		for _, endpoints := range [][]string{{store.AllEndpoints}, {w.endpoint.ID}, {w.endpoint.ID, other.ID}} {
			got := w.traffic(store.LastDay, endpoints...)
			same(t, [2]int64{got.Pending, int64(got.Oldest / time.Minute)}, nil, [2]int64{7, 6})
		}
		points, err := w.db.Traffic(w.ctx, []string{other.ID}, store.LastHour, w.now())
		same(t, points[len(points)-1].Pending, err, 0)
		same(t, points[0].Pending, err, -1)
	})
}

// Nodes add to the same rows; hours sum up their minutes, and pruning leaves the rows of charts.
func TestTrafficKeepsSumsAndIsPruned(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		start := w.clock.Now().UTC().Truncate(24 * time.Hour)
		for minute := range 3 * 60 {
			w.write(func(tx *store.Tx) error {
				row := store.Traffic{EndpointID: w.endpoint.ID, At: start.Add(time.Duration(minute) * time.Minute), Delivered: 2, Pending: int64(minute), Latency: store.Latencies{3: 2}}
				return tx.AddTraffic(w.ctx, []store.Traffic{row, row})
			})
		}
		w.clock.Advance(start.Add(3*time.Hour - time.Second).Sub(w.clock.Now()))
		same(t, w.traffic(store.LastHour, w.endpoint.ID).Delivered, nil, 4*60)
		same(t, w.traffic(store.LastDay, store.AllEndpoints).Delivered, nil, 4*180)
		same(t, w.traffic(store.LastMonth, store.AllEndpoints).Latency, nil, store.Latencies{3: 4 * 180})
		same(t, w.traffic(store.LastDay, w.endpoint.ID).Pending, nil, 179)
		each, err := w.db.TrafficOfEach(w.ctx, []string{w.endpoint.ID, "end_other"}, w.now())
		same(t, len(each), err, 1)
		same(t, sum(each[w.endpoint.ID]).Delivered, err, 4*180)
		partners, err := w.db.TrafficOfPartners(w.ctx, []string{w.partner.ID, w.own.ID}, w.now())
		same(t, len(partners), err, 1)
		same(t, sum(partners[w.partner.ID]).Delivered, err, 4*180)
		same(t, len(partners[w.partner.ID]), err, 24)
		// The period before this one has its own points: an hour ago each minute had four.
		before, err := w.db.Traffic(w.ctx, []string{w.endpoint.ID}, store.LastHour, store.LastHour.Before(w.now()))
		same(t, [2]int64{int64(len(before)), sum(before).Delivered}, err, [2]int64{60, 4 * 60})
		w.clock.Advance(5 * time.Hour)
		prune := func() int {
			steps := 0
			for done := false; !done; steps++ {
				w.write(func(tx *store.Tx) error {
					p, err := tx.PruneTraffic(w.ctx, store.At(tx.Now.Add(-31*24*time.Hour)), "", 100)
					done = p.Done
					return err
				})
			}
			return steps
		}
		same(t, prune(), nil, 4) // 360 rows by the minute, by hundreds
		same(t, w.traffic(store.LastDay, store.AllEndpoints).Delivered, nil, 4*180)
		w.clock.Advance(3 * 24 * time.Hour)
		prune()
		same(t, w.traffic(store.LastMonth, store.AllEndpoints).Delivered, nil, 4*180)
		w.clock.Advance(31 * 24 * time.Hour)
		prune()
		read, _ := w.db.Pools()
		var left int
		noErr(t, read.Get(&left, `SELECT COUNT(*) FROM traffic`))
		same(t, left, nil, 0)
	})
}

// The charts read counts by their key, and no deliveries.
func TestTrafficReadsByKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.fails(errStop, func(tx *store.Tx) error {
			recorder := tx.Record()
			for _, endpoints := range [][]string{{store.AllEndpoints}, {w.endpoint.ID, "end_other"}} {
				_, err := tx.Traffic(w.ctx, endpoints, store.LastMonth, w.now())
				noErr(t, err)
			}
			_, err := tx.TrafficOfEach(w.ctx, []string{w.endpoint.ID}, w.now())
			noErr(t, err)
			_, err = tx.TrafficOfPartners(w.ctx, []string{w.partner.ID}, w.now())
			noErr(t, err)
			plan := w.plan(tx, recorder.Statements)
			if strings.Contains(plan, "delivery") || strings.Contains(plan, "SCAN traffic") || strings.Contains(plan, "Seq Scan on traffic") || !strings.Contains(plan, "traffic") {
				t.Error(plan)
			}
			return errStop
		})
	})
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, c := range []struct {
		name    string
		l       store.Latencies
		q       float64
		want    time.Duration
		over    bool
		nothing bool
	}{
		{name: "nothing", nothing: true},
		{name: "the middle of the first bucket", l: store.Latencies{0: 10}, q: .5, want: 5 * ms},
		{name: "the end of a bucket", l: store.Latencies{0: 5, 3: 5}, q: .5, want: 10 * ms},
		{name: "within a later bucket", l: store.Latencies{0: 5, 3: 5}, q: .75, want: 75 * ms},
		{name: "all of it", l: store.Latencies{2: 3}, q: 1, want: 50 * ms},
		{name: "above the last bound", l: store.Latencies{0: 1, 15: 9}, q: .95, want: 3 * time.Hour, over: true},
	} {
		got, over, ok := c.l.Quantile(c.q)
		if fmt.Sprint(got, over, ok) != fmt.Sprint(c.want, c.over, !c.nothing) {
			t.Errorf("%s: %s %t %t", c.name, got, over, ok)
		}
	}
	var l store.Latencies
	for _, took := range []time.Duration{0, 10 * ms, 11 * ms, 3 * time.Hour, 4 * time.Hour} {
		l.Add(took)
	}
	if want := (store.Latencies{0: 2, 1: 1, 14: 1, 15: 1}); l != want {
		t.Errorf("buckets %v, want %v", l, want)
	}
}
