// Package window computes when an endpoint may be sent to: weekly windows in the time of a place, such as office hours or
// all hours but those of maintenance.
//
// A window has the time of the wall clock there. When the clock is put forward, a window that would open in the hour that is
// left out opens at once after it; when it is put back that hour occurs twice, and both count.
package window

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Week is a set of weekly windows. The zero Week is open at any time.
type Week struct {
	zone  *time.Location
	name  string // of the zone, as given
	spans []span
}

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

// Closed returns the moment, not after the one given, at which the last window ended, for a moment outside all windows. It is zero when
// none ended in the nine days before.
func (w Week) Closed(at time.Time) time.Time {
	var last time.Time
	if w.Always() || w.Open(at) {
		return last
	}
	local := at.In(w.zone)
	for n := range 9 {
		noon := time.Date(local.Year(), local.Month(), local.Day()-n, 12, 0, 0, 0, w.zone)
		for _, s := range w.spans {
			for _, t := range instants(noon, s.until) {
				if !t.After(at) && t.After(last) && !w.Open(t) && w.Open(t.Add(-time.Second)) {
					last = t
				}
			}
		}
	}
	return last
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

// Bounds of input.
const (
	maxText  = 8 << 10
	maxSpans = 50
)

// document is the stored form of windows:
//
//	{"timeZone":"Europe/Amsterdam","open":[{"days":["mon","fri"],"from":"07:00","to":"19:00"}]}
type document struct {
	TimeZone string         `json:"timeZone"`
	Open     []documentSpan `json:"open"`
}

type documentSpan struct {
	Days []string `json:"days"`
	From string   `json:"from"`
	To   string   `json:"to"`
}

// Parse reads windows as they are stored: JSON, or "" for any time. Times are "HH:MM" from 00:00 to 24:00, a time zone is
// a name of the IANA database. Its errors may be shown to people.
func Parse(text string) (Week, error) {
	if text == "" {
		return Week{}, nil
	}
	if len(text) > maxText {
		return Week{}, fmt.Errorf("use at most %d characters for all windows", maxText)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	var in document
	if err := d.Decode(&in); err != nil {
		return Week{}, errors.New(`write the windows as {"timeZone":"Europe/Amsterdam","open":[{"days":["mon"],"from":"07:00","to":"19:00"}]}`)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Week{}, errors.New("write one JSON object and nothing after it")
	}
	return in.week()
}

// Check returns the first problem of windows.
func Check(text string) error {
	_, err := Parse(text)
	return err
}

func (d document) week() (Week, error) {
	zone, err := loadZone(d.TimeZone)
	if err != nil {
		return Week{}, err
	}
	w := Week{zone: zone, name: d.TimeZone}
	if len(d.Open) == 0 || len(d.Open) > maxSpans {
		return Week{}, fmt.Errorf("name from 1 to %d windows", maxSpans)
	}
	for _, in := range d.Open {
		s, err := in.span()
		if err != nil {
			return Week{}, err
		}
		w.spans = append(w.spans, s)
	}
	return w, nil
}

// loadZone accepts a name of the IANA database. The files of the database have other names: "localtime" and "posixrules" are
// the settings of this machine, "Factory" is a machine without any, and posix/ and right/ repeat all, the latter with leap
// seconds. "" and "Local" would be the place where this program happens to run.
func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	area, _, _ := strings.Cut(name, "/")
	if err != nil || slices.Contains([]string{"", "Local", "localtime", "posixrules", "Factory", "posix", "right"}, area) {
		return nil, errors.New("there is no time zone " + strconv.Quote(name) + ": use a name such as Europe/Amsterdam")
	}
	return zone, nil
}

func (d documentSpan) span() (s span, err error) {
	for _, word := range d.Days {
		i := slices.Index(dayWords(), word)
		if i < 0 {
			return s, errors.New("there is no day " + strconv.Quote(word) + ": use mon, tue, wed, thu, fri, sat and sun")
		}
		s.days[i] = true
	}
	if len(d.Days) == 0 {
		return s, errors.New("name the days on which a window opens")
	}
	if s.from, err = parseClock(d.From); err != nil {
		return s, err
	}
	if s.until, err = parseClock(d.To); err != nil {
		return s, err
	}
	if s.from == s.until || s.from == day {
		return s, fmt.Errorf("a window from %s to %s has no length; a whole day is 00:00 to 24:00", d.From, d.To)
	}
	return s, nil
}

// dayWords lists the names of days by time.Weekday.
func dayWords() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// parseClock reads HH:MM as minutes of the day.
func parseClock(text string) (int, error) {
	invalid := errors.New("there is no time " + strconv.Quote(text) + ": use hours and minutes such as 07:00, at most 24:00")
	h, m, ok := strings.Cut(text, ":")
	if !ok || len(h) != 2 || len(m) != 2 {
		return 0, invalid
	}
	hours, err := strconv.ParseUint(h, 10, 8)
	if err != nil {
		return 0, invalid
	}
	minutes, err := strconv.ParseUint(m, 10, 8)
	if err != nil || minutes > 59 || hours*60+minutes > day {
		return 0, invalid
	}
	return int(hours*60 + minutes), nil
}

// String writes windows as Parse reads them; "" for any time.
func (w Week) String() string {
	if w.Always() {
		return ""
	}
	out := document{TimeZone: w.name}
	for _, s := range w.spans {
		one := documentSpan{From: clock(s.from), To: clock(s.until)}
		for _, d := range week() {
			if s.days[d] {
				one.Days = append(one.Days, dayWords()[d])
			}
		}
		out.Open = append(out.Open, one)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic("windows of strings cannot fail to encode: " + err.Error())
	}
	return string(text)
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

// week lists the days from Monday on.
func week() []time.Weekday {
	return []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday}
}
