package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"schakel/server/trial"
)

type column struct {
	title string
	width int
	text  func(r result) string
}

// columns lists the columns of the table after the name.
func columns() []column {
	return []column{
		{"accepted/s", 10, func(r result) string { return count(r.Accepted) }},
		{"delivered/s", 11, func(r result) string { return count(r.Delivered) }},
		{"ceiling", 7, func(r result) string { return share(r.OfCeiling) }},
		{"relay", 6, func(r result) string { return share(r.OfRelay) }},
		{"p50 ms", 8, func(r result) string { return short(r.P50) }},
		{"p99 ms", 8, func(r result) string { return short(r.P99) }},
		{"202 p99", 8, func(r result) string { return short(r.Answer99) }},
		{"CPU µs", 7, func(r result) string { return short(r.Processor) }},
		{"db µs", 6, func(r result) string { return short(r.Database) }},
		{"load µs", 7, func(r result) string { return short(r.Loader) }},
		{"MB", 5, func(r result) string { return count(r.Memory) }},
		{"peak MB", 7, func(r result) string { return count(r.MemoryMost) }},
		{"others", 6, func(r result) string { return share(r.Others) }},
	}
}

// nameWidth is room for the longest name.
const nameWidth = 46

// legend explains the columns.
const legend = `
accepted/s, delivered/s: events answered 202, and different events that arrived, while events were published.
ceiling: delivered/s as a share of what the loader can post straight to the receiver. relay: the same with a bare HTTP
server of Go's library between, which answers 202 and posts on, and neither checks, routes nor writes to disk.
p50, p99: from the 202 at the loader to the receipt; 202 p99: from the request to its 202.
CPU, db, load µs: processor time per event of Schakel, of PostgreSQL, and of the loader with its receiver.
MB, peak MB: resident memory of Schakel, at the end and at most. others: share of the machine that anything else took.
Every line ends with its ledger drawn up: each event that was answered 202 has arrived, or the run fails.`

// heading is the first line.
func heading() string {
	return row("scenario", func(c column) string { return c.title })
}

// line is the line of a result, with what the columns do not show below it.
func line(r result) string {
	text := row(r.Name, func(c column) string { return c.text(r) })
	if notes := r.notes(); notes != "" {
		text += "\n    " + notes
	}
	return text
}

func row(name string, cell func(column) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", nameWidth, name)
	for _, c := range columns() {
		fmt.Fprintf(&b, "  %*s", c.width, cell(c))
	}
	return strings.TrimRight(b.String(), " ")
}

// count is a whole number; nothing for none.
func count(n float64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", n)
}

// short is a number of about three digits.
func short(n float64) string {
	switch {
	case n == 0:
		return "-"
	case n < 10:
		return fmt.Sprintf("%.2f", n)
	case n < 100:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

func share(n float64) string {
	switch {
	case n == 0:
		return "-"
	case n < 0.0995:
		return fmt.Sprintf("%.1f%%", 100*n)
	}
	return fmt.Sprintf("%.0f%%", 100*n)
}

// report is the file with the figures.
type report struct {
	Machine string   `json:"machine"`
	Seconds int      `json:"seconds"`
	Results []result `json:"results"`
}

// write writes the file; an empty name is none.
func (r report) write(name string) error {
	if name == "" {
		return nil
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode figures: %w", err)
	}
	if err := os.WriteFile(name, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}

// printer writes lines and remembers the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.out, text)
	}
}

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
