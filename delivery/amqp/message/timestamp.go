package message

import (
	"strings"
	"time"
)

// timeLayout is ISO 8601 as the profile wants it (AMQP-29): whole seconds and a zone.
const timeLayout = "2006-01-02T15:04:05Z07:00"

// FormatTime writes a time as the profile wants it, in UTC (AMQP-29).
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime reads a time of the profile (AMQP-29): a zone is required, fractions of a
// second are dropped, an offset may lack its colon. The result is in UTC.
func ParseTime(s string) (time.Time, bool) {
	return parseAny(s, time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04Z07:00")
}

// parseTimeLiberally reads what others write in error messages besides (AMQP-36,
// AMQP-140): a time without a zone is one in UTC.
func parseTimeLiberally(s string) (time.Time, bool) {
	if t, ok := ParseTime(s); ok {
		return t, true
	}
	return parseAny(s, "01/02/2006 15:04:05", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05.999999999",
		"02.01.2006 15:04:05", time.RFC1123, time.RFC1123Z)
}

func parseAny(s string, layouts ...string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1 {
			return t.UTC().Truncate(time.Second), true
		}
	}
	return time.Time{}, false
}
