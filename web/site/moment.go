package site

import (
	"context"
	"strings"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
)

// MomentLayout writes a moment as browsers do, and as our addresses do; in UTC.
const MomentLayout = "2006-01-02T15:04:05"

// Period reads two moments or days in UTC; "" leaves an end open. A day as the end is included, a moment is not.
func Period(from, until string, wrong FormErrors) (start, end store.Time) {
	start, _ = momentOrDay("from", from, wrong)
	end, whole := momentOrDay("until", until, wrong)
	if whole {
		end = store.At(end.AddDate(0, 0, 1))
	}
	if !start.IsZero() && !end.IsZero() && !start.Before(end.Time) {
		wrong["until"] = "site.end-before"
		if whole {
			wrong["until"] = "site.day-before"
		}
	}
	return start, end
}

// momentOrDay reads a moment or a whole day.
func momentOrDay(name, raw string, wrong FormErrors) (at store.Time, whole bool) {
	if raw == "" {
		return store.Time{}, false
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", MomentLayout, time.RFC3339Nano} {
		if t, err := time.Parse(layout, raw); err == nil && t.Year() >= 1970 && t.Year() < 10_000 {
			return store.At(t), layout == time.DateOnly
		}
	}
	wrong[name] = "site.moment-bad"
	return store.Time{}, false
}

// MomentField is the kind of input that shows a value: a day, or a moment.
func MomentField(value string) string {
	if strings.Contains(value, "T") {
		return "datetime-local"
	}
	return "date"
}

// Day reads a day in UTC; "" is none.
func Day(name, raw string, wrong FormErrors) store.Time {
	if raw == "" {
		return store.Time{}
	}
	t, err := time.Parse(time.DateOnly, raw)
	if err != nil || t.Year() < 1970 {
		wrong[name] = "site.day-bad"
		return store.Time{}
	}
	return store.At(t)
}

// MomentWords writes what was typed as pages write moments; a day stays as it is.
func MomentWords(ctx context.Context, raw string) string {
	at, whole := momentOrDay("", raw, FormErrors{})
	if at.IsZero() || whole {
		return raw
	}
	return i18n.Time(ctx, at.Time)
}
