package i18n

import (
	"context"
	"strings"
	"time"

	"golang.org/x/text/number"
)

// Count writes a whole number with the separators of the language: 1,204.
func (l *Locale) Count(n int) string { return l.printer.Sprint(number.Decimal(n)) }

// Count writes a whole number for the reader of a context.
func Count(ctx context.Context, n int) string { return From(ctx).Count(n) }

// CountUpTo writes a number that was counted no further than one above most: "10,000+".
func CountUpTo(ctx context.Context, n, most int) string {
	if n > most {
		return From(ctx).Count(most) + "+"
	}
	return From(ctx).Count(n)
}

// Bytes writes a size in powers of 1024 with at most one decimal: "1.5 KiB".
func (l *Locale) Bytes(n int64) string {
	if n < 1024 {
		return l.T("unit.bytes", n)
	}
	size, unit := float64(n), ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		size, unit = size/1024, u
		if size < 1023.95 {
			break
		}
	}
	return l.Decimal(size, 1) + " " + unit
}

// Bytes writes a size for the reader of a context.
func Bytes(ctx context.Context, n int64) string { return From(ctx).Bytes(n) }

// Decimal writes a fraction with at most so many decimals.
func (l *Locale) Decimal(f float64, decimals int) string {
	return l.printer.Sprint(number.Decimal(f, number.MaxFractionDigits(decimals)))
}

// Time writes a moment to the second in the zone of the reader, and names the zone: "21 Nov 2026 14:03:05 CET". The zero time
// is "never".
func (l *Locale) Time(t time.Time) string {
	if t.IsZero() {
		return l.T("time.never")
	}
	t = t.In(l.Zone)
	return l.day(t) + t.Format(" 15:04:05 ") + l.ZoneName(t)
}

// ZoneName is the short name of the zone of the reader at a moment, or its distance from UTC where it has none.
func (l *Locale) ZoneName(t time.Time) string {
	t = t.In(l.Zone)
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return "UTC" + t.Format("-07:00")
	}
	return name
}

// Time writes a moment for the reader of a context.
func Time(ctx context.Context, t time.Time) string { return From(ctx).Time(t) }

// Day writes a date in the zone of the reader: "21 Nov 2026".
func (l *Locale) Day(t time.Time) string {
	if t.IsZero() {
		return l.T("time.never")
	}
	return l.day(t.In(l.Zone))
}

func (l *Locale) day(t time.Time) string { return l.ShortDay(t) + t.Format(" 2006") }

// ShortDay writes the day and month of a time, in the zone that it has: "21 Nov", in Norwegian "21. nov.".
func (l *Locale) ShortDay(t time.Time) string {
	return l.T("time.day", t.Day(), l.Of("time", "month-"+t.Format("01")))
}

// Day writes a date for the reader of a context.
func Day(ctx context.Context, t time.Time) string { return From(ctx).Day(t) }

// Duration writes a length of time in its largest units, two at most: "250 ms", "1.5 s", "3 min 20 s", "2 h 5 min", "4 d 1 h"; whole
// days in words: "7 days".
func (l *Locale) Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + l.Duration(-d)
	case d < time.Second:
		return l.T("unit.ms", d.Milliseconds())
	case d < 10*time.Second:
		return l.T("unit.s-fraction", l.Decimal(float64(d/(100*time.Millisecond))/10, 1))
	}
	return l.longDuration(int64(d / time.Second))
}

func (l *Locale) longDuration(seconds int64) string {
	units := []struct {
		size int64
		key  string
	}{{86400, "unit.d"}, {3600, "unit.h"}, {60, "unit.min"}, {1, "unit.s"}}
	if days := seconds / 86400; days > 0 && seconds%86400 < 3600 {
		return l.T("unit.days", days)
	}
	for i, u := range units {
		if seconds < u.size {
			continue
		}
		text := l.T(u.key, seconds/u.size)
		if i+1 < len(units) {
			if rest := seconds % u.size / units[i+1].size; rest > 0 {
				text += " " + l.T(units[i+1].key, rest)
			}
		}
		return text
	}
	return l.T("unit.s", 0)
}

// Duration writes a length of time for the reader of a context.
func Duration(ctx context.Context, d time.Duration) string { return From(ctx).Duration(d) }

// Relative writes how far t is from now: "20 s ago", "3 min ago", "2 h 5 min ago", "in 2 h 5 min". Less than a second either way is "now". What is past
// is written no finer than readers ask of it, since lists have a column of it.
func (l *Locale) Relative(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return l.T("time.never")
	case d > -time.Second && d < time.Second:
		return l.T("time.now")
	case d < 0:
		return l.T("time.in", l.Duration((-d).Truncate(time.Second)))
	default:
		return l.T("time.ago", l.Duration(d.Truncate(grain(d))))
	}
}

// grain chooses the finest unit in which a past length of time is written.
func grain(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return time.Second
	case d < 10*time.Hour:
		return time.Minute
	case d < 48*time.Hour:
		return time.Hour
	}
	return 24 * time.Hour
}

// Relative writes how far a moment is from now for the reader of a context.
func Relative(ctx context.Context, t, now time.Time) string { return From(ctx).Relative(t, now) }
