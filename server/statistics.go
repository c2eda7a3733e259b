package main

import (
	"log/slog"
	"time"

	"schakel/store"
)

// statisticsEvery is the time between looks at the statistics of the query planner. To find that none are old costs next to nothing.
const statisticsEvery = time.Minute

// newStatistics makes the service that keeps the statistics of the query planner current: when the program starts, and while it runs, so that
// pages stay fast while tables fill up.
func newStatistics(db *store.DB, log *slog.Logger) *periodic {
	return &periodic{name: "statistics", each: statisticsEvery, turn: db.Optimize, log: log}
}
