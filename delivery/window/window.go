// Package window computes when an endpoint may be sent to: weekly windows in the time of a place, such as office hours or
// all hours but those of maintenance.
//
// A window has the time of the wall clock there. When the clock is put forward, a window that would open in the hour that is
// left out opens at once after it; when it is put back that hour occurs twice, and both count.
package window

import (
	"slices"
	"time"
)

// Week is a set of weekly windows. The zero Week is open at any time.
type Week struct {
	zone  *time.Location
	name  string // of the zone, as given
	spans []span
}

// day is the number of minutes in a day.
const day = 24 * 60

// span is open on days from one minute of the day to another; over midnight when until is not after from.
type span struct {
	days        [7]bool // by time.Weekday, of the day on which it opens
	from, until int
}

// Never returns a week that does not open. It cannot be written as text: it stands for windows that cannot be read.
func Never() Week { return Week{zone: time.UTC, name: "UTC"} }

// Always reports whether there are no windows, so that it is open at any time.
func (w Week) Always() bool { return w.zone == nil }

// Open reports whether a moment is inside a window.
func (w Week) Open(at time.Time) bool {
	if w.Always() {
		return true
	}
	local := at.In(w.zone)
	minute, today := local.Hour()*60+local.Minute(), local.Weekday()
	return slices.ContainsFunc(w.spans, func(s span) bool { return s.holds(today, minute) })
}

func (s span) holds(today time.Weekday, minute int) bool {
	if s.until > s.from {
		return s.days[today] && minute >= s.from && minute < s.until
	}
	yesterday := (today + 6) % 7
	return s.days[today] && minute >= s.from || s.days[yesterday] && minute < s.until
}

// Next returns the first moment, not before the one given, that is inside a window.
func (w Week) Next(at time.Time) time.Time {
	if w.Open(at) {
		return at
	}
	var first time.Time
	for _, t := range w.openings(at) {
		if t.After(at) && (first.IsZero() || t.Before(first)) && w.Open(t) {
			first = t
		}
	}
	return first
}

// openings returns the moments at which a window may open in the week and a day after: where the wall clock shows its opening
// time, and where that clock changes.
func (w Week) openings(at time.Time) []time.Time {
	local := at.In(w.zone)
	last := local.AddDate(0, 0, 9)
	var all []time.Time
	for t := local; t.Before(last); {
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		all = append(all, end)
		t = end
	}
	for n := range 9 {
		// Noon is there on every day, also where clocks change at midnight.
		noon := time.Date(local.Year(), local.Month(), local.Day()+n, 12, 0, 0, 0, w.zone)
		for _, s := range w.spans {
			if s.days[noon.Weekday()] {
				all = append(all, instants(noon, s.from)...)
			}
		}
	}
	return all
}

// instants returns the moments of a day at which the clock shows a minute: two where clocks are put back; where they are put
// forward there may be none, and Next leaves out the wrong ones.
func instants(noon time.Time, minute int) []time.Time {
	wall := time.Date(noon.Year(), noon.Month(), noon.Day(), 0, minute, 0, 0, time.UTC)
	_, before := noon.Add(-day * time.Minute).Zone()
	_, now := noon.Zone()
	_, after := noon.Add(day * time.Minute).Zone()
	var all []time.Time
	for _, offset := range []int{before, now, after} {
		all = append(all, wall.Add(-time.Duration(offset)*time.Second))
	}
	return all
}
