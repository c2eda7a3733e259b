package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// column is one of the table.
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
