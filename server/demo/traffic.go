package demo

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"schakel/store"
)

// sampleDays is the time before the demonstration began that its charts show: the month they can show, and the one it is compared with.
const sampleDays = 60

// SeedTraffic adds counts of the 60 days up to now, such as a month of exchange would have left, so that charts have something to
// show. They are counts alone: no event or delivery belongs to them, and pages say that they are sample data. The same endpoints
// get the same counts.
func SeedTraffic(ctx context.Context, db *store.DB, now time.Time) error {
	endpoints, err := db.Endpoints(ctx, "")
	if err != nil {
		return fmt.Errorf("list endpoints for sample counts: %w", err)
	}
	end := now.UTC().Truncate(time.Minute)
	for day := range sampleDays {
		from := end.Add(-time.Duration(sampleDays-day) * 24 * time.Hour)
		var rows []store.Traffic
		for at := from; at.Before(from.Add(24 * time.Hour)); at = at.Add(sampleStep(end.Sub(at))) {
			rows = append(rows, sampleMoment(endpoints, at, sampleStep(end.Sub(at)))...)
		}
		if err := db.Write(ctx, func(tx *store.Tx) error { return tx.AddTraffic(ctx, rows) }); err != nil {
			return fmt.Errorf("add sample counts: %w", err)
		}
	}
	return nil
}

// sampleStep is as fine as what charts show of that age: minutes of the last hours, quarters of two days, then hours.
func sampleStep(age time.Duration) time.Duration {
	switch {
	case age <= 3*time.Hour:
		return time.Minute
	case age <= 48*time.Hour:
		return 15 * time.Minute
	}
	return time.Hour
}

// sampleMoment makes the counts of all endpoints in one step: busy in school hours, quiet at night and at weekends.
func sampleMoment(endpoints []store.Endpoint, at time.Time, step time.Duration) []store.Traffic {
	hour := float64(at.Hour()) + float64(at.Minute())/60
	busy := 0.08 + math.Exp(-math.Pow(hour-11, 2)/18)
	if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
		busy *= 0.15
	}
	events := whole(90*busy*step.Hours()*(0.85+0.3*noise("events", at)), "accepted", at)
	all := store.Traffic{At: at, Accepted: events}
	rows := make([]store.Traffic, 0, len(endpoints)+1)
	for i, e := range endpoints {
		if e.Kind != store.EndpointWebhook {
			continue
		}
		share := 0.3 + 0.6*noise(e.Name, time.Time{})
		row := store.Traffic{EndpointID: e.ID, At: at, Made: whole(float64(events)*share, e.Name+"made", at)}
		failing := i%3 == 1 && noise(e.Name+"outage", at.Truncate(6*time.Hour)) > 0.85 // some fail for hours now and then
		row.Delivered = row.Made
		if failing {
			row.Failed, row.Delivered, row.Pending = row.Made, row.Made/2, row.Made/2
			row.Oldest = time.Duration(row.Pending) * time.Minute / 4
		} else if noise(e.Name+"once", at) > 0.9 {
			row.Failed = row.Made / 8
		}
		bucket := 2 + int(3*noise(e.Name+"speed", at))
		row.Latency[bucket] = row.Delivered * 9 / 10
		row.Latency[bucket+2] = row.Delivered - row.Latency[bucket]
		all.Pending, all.Oldest = all.Pending+row.Pending, max(all.Oldest, row.Oldest)
		rows = append(rows, row)
	}
	return append(rows, all)
}

// whole rounds up or down so that many small numbers keep their sum.
func whole(n float64, name string, at time.Time) int64 { return int64(n + noise(name, at)) }

// noise is a number from 0 to 1 that follows from a name and a moment.
func noise(name string, at time.Time) float64 {
	h := fnv.New32a()
	fmt.Fprint(h, name, at.Unix())
	return float64(h.Sum32()%1000) / 1000
}
