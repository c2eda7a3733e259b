package site

import (
	"context"
	"strings"
	"time"

	"schakel/store"
	"schakel/templates/i18n"
	"schakel/templates/ui"
)

// MomentLayout writes a moment as browsers do, and as our addresses do.
const MomentLayout = "2006-01-02T15:04:05"

// minuteLayout writes a moment to the minute, as browsers do.
const minuteLayout = "2006-01-02T15:04"

// Period reads two moments or days, which are in the time zone of that name, or in UTC without one: an address then says the same to
// whoever opens it. "" leaves an end open. A day as the end is included, a moment is not.
func Period(zone, from, until string, wrong FormErrors) (start, end store.Time) {
	start, _ = momentOrDay("from", zone, from, wrong)
	end, whole := momentOrDay("until", zone, until, wrong)
	if whole {
		end = dayAfter(zone, end)
	}
	if !start.IsZero() && !end.IsZero() && !start.Before(end.Time) {
		wrong["until"] = "site.end-before"
		if whole {
			wrong["until"] = "site.day-before"
		}
	}
	return start, end
}

// dayAfter is the beginning of the next day in a time zone.
func dayAfter(zone string, day store.Time) store.Time {
	return store.At(day.In(zoneNamed(zone)).AddDate(0, 0, 1))
}

// zoneNamed finds a time zone; one that is not known is UTC.
func zoneNamed(name string) *time.Location {
	if name == "" || name == "Local" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// momentOrDay reads a moment or a whole day in a time zone.
func momentOrDay(name, zone, raw string, wrong FormErrors) (at store.Time, whole bool) {
	if raw == "" {
		return store.Time{}, false
	}
	for _, layout := range []string{time.DateOnly, minuteLayout, MomentLayout, time.RFC3339Nano} {
		if t, err := time.ParseInLocation(layout, raw, zoneNamed(zone)); err == nil && t.Year() >= 1970 && t.Year() < 10_000 {
			return store.At(t), layout == time.DateOnly
		}
	}
	wrong[name] = "site.moment-bad"
	return store.Time{}, false
}

// MomentField asks for a moment to the minute in the time zone of the reader, which its label names. What was typed in another zone is shown
// in the reader's; a day that ends a period as the moment at which it ends. What cannot be read stays as it is.
func MomentField(ctx context.Context, name, label, zone, raw string) ui.Field {
	own := i18n.From(ctx).Zone
	f := ui.Field{Name: name, Label: i18n.T(ctx, "site.moment-label", label, placeOf(own)), Type: ui.TypeMoment, Value: raw}
	at, whole := momentOrDay(name, zone, raw, FormErrors{})
	if at.IsZero() {
		return f
	}
	if whole && name == "until" {
		at = dayAfter(zone, at)
	}
	local := at.In(own)
	if f.Value = local.Format(minuteLayout); local.Second() != 0 {
		f.Value = local.Format(MomentLayout)
	}
	return f
}

// placeOf names a time zone by its place, as short as people know it: "Amsterdam" for Europe/Amsterdam.
func placeOf(zone *time.Location) string {
	name := zone.String()
	return strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " ")
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
func MomentWords(ctx context.Context, zone, raw string) string {
	at, whole := momentOrDay("", zone, raw, FormErrors{})
	if at.IsZero() || whole {
		return raw
	}
	return i18n.Time(ctx, at.Time)
}
