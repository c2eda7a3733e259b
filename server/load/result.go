package main

import (
	"fmt"
	"strings"
	"time"

	"schakel/server/trial"
)

// result is a line of the table. Times are in milliseconds unless the name says otherwise.
type result struct {
	Name      string  `json:"name"`
	Ceiling   string  `json:"ceiling,omitempty"` // the lines it is read against
	Relay     string  `json:"relay,omitempty"`
	Accepted  float64 `json:"acceptedPerSecond"`   // answered 202 while events were published
	Delivered float64 `json:"deliveredPerSecond"`  // arrived meanwhile
	OfCeiling float64 `json:"ofCeiling,omitempty"` // Delivered as a share of that of the ceiling
	OfRelay   float64 `json:"ofRelay,omitempty"`   // and of the relay
	P50       float64 `json:"p50"`                 // from 202 to receipt
	P99       float64 `json:"p99"`
	Answer50  float64 `json:"answerP50"` // from request to 202
	Answer99  float64 `json:"answerP99"`

	Processor    float64 `json:"microsecondsPerEvent"` // processor time of Schakel
	Database     float64 `json:"databaseMicrosecondsPerEvent"`
	Loader       float64 `json:"loaderMicrosecondsPerEvent"` // publishing and receiving
	Memory       float64 `json:"residentMB"`                 // of all nodes, at the end
	MemoryMost   float64 `json:"residentPeakMB"`
	Others       float64 `json:"othersShare"` // of the machine, used by anything else
	Drain        float64 `json:"drainSeconds"`
	TotalEvents  int     `json:"acceptedEvents"`
	Lost         int     `json:"lost"`
	Repeats      int     `json:"repeats"`
	Misdirected  int     `json:"misdirected"`
	Refused      int64   `json:"refused"` // answers 409, 429, 503
	Broken       int64   `json:"brokenConnections"`
	Waiting      int     `json:"waiting"` // accepted and not arrived when the publishing ended
	Observations string  `json:"observations,omitempty"`
}

// result turns what was seen into a line, but for what the ledger says.
func (sent sending) result(s *stage, name string) result {
	s.Helper()
	seconds := sent.took.Seconds()
	r := result{
		Name: name, Accepted: float64(sent.accepted) / seconds, Delivered: float64(sent.delivered) / seconds,
		Answer50: milliseconds(sent.answers.quantile(0.5)), Answer99: milliseconds(sent.answers.quantile(0.99)),
		Others: sent.used.others(sent.took + sent.drained), Drain: sent.drained.Seconds(),
		Refused: sent.feed.refused.Load(), Broken: sent.feed.broken.Load(), Waiting: sent.accepted - sent.delivered,
	}
	if s.plan.name != s.plan.ceiling() {
		r.Ceiling = s.plan.ceiling()
	}
	if s.plan.nodes > 0 {
		r.Relay = s.plan.relay()
	}
	if events := float64(sent.accepted); events > 0 {
		r.Processor, r.Database, r.Loader = micros(sent.used.schakel)/events, micros(sent.used.database)/events, micros(sent.used.loader)/events
	}
	for _, n := range s.nodes {
		now, most, err := memory(n.PID())
		trial.Must(s, err)
		r.Memory += float64(now) / 1e6
		r.MemoryMost += float64(most) / 1e6
	}
	return r
}

// judge adds what the ledger says. A loss is a failure, and so is an event at another endpoint than its own.
func (r *result) judge(s *stage, v verdict) {
	s.Helper()
	r.TotalEvents, r.Lost, r.Repeats, r.Misdirected = v.accepted, v.lost, v.repeats, v.misdirected
	r.P50, r.P99 = milliseconds(v.latency.quantile(0.5)), milliseconds(v.latency.quantile(0.99))
	if v.lost > 0 {
		s.Errorf("%s: %d of %d events that were answered 202 did not arrive", r.Name, v.lost, v.accepted)
	}
	if v.misdirected > 0 {
		s.Errorf("%s: %d events arrived at an endpoint they are not for", r.Name, v.misdirected)
	}
	if v.accepted == 0 {
		s.Errorf("%s: no event was accepted", r.Name)
	}
}

// notes returns remarks on what the columns do not show.
func (r result) notes() string {
	var all []string
	note := func(when bool, format string, args ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	note(r.Observations != "", "%s", r.Observations)
	note(r.Waiting > r.TotalEvents/100+100, "%d were on their way when publishing ended, and arrived within %.1f s", r.Waiting, r.Drain)
	note(r.Refused > 0, "%d requests were answered 409, 429 or 503 and repeated", r.Refused)
	note(r.Broken > 0, "%d connections broke", r.Broken)
	note(r.Repeats > 0, "%d events arrived more than once", r.Repeats)
	return strings.Join(all, "; ")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func micros(d time.Duration) float64       { return float64(d) / float64(time.Microsecond) }
