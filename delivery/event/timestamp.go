package event

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var errTime = errors.New("not an RFC 3339 time")

// ParseTime reads a time of RFC 3339 as CE-20 requires it: seconds and an offset are required, "t" and "z" may be lower case,
// a fraction follows a point, and second 60 exists only in the last minute of a month in UTC. It returns the instant; a leap
// second becomes the second after it.
func ParseTime(s string) (time.Time, error) {
	if !isTime(s) {
		return time.Time{}, errTime
	}
	s = strings.ToUpper(s)
	leap := s[17:19] == "60"
	if leap {
		s = s[:17] + "59" + s[19:]
	}
	instant, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", errTime, err)
	}
	if leap {
		instant = instant.Truncate(time.Second).Add(time.Second)
	}
	return instant, nil
}

// isTime checks the form by hand: it runs for every event.
func isTime(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return false
	}
	year, month, day := decimal(s[:4]), decimal(s[5:7]), decimal(s[8:10])
	hour, minute, second := decimal(s[11:13]), decimal(s[14:16]), decimal(s[17:19])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return false
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 {
		return false
	}
	offset, ok := zone(fraction(s[19:]))
	if !ok {
		return false
	}
	return second < 60 || endsMonth(time.Date(year, time.Month(month), day, hour, minute-offset, 59, 0, time.UTC))
}

// fraction drops ".5"; a point without digits stays and fails as a zone.
func fraction(s string) string {
	if s[0] != '.' {
		return s
	}
	if rest := strings.TrimLeft(s[1:], "0123456789"); len(rest) < len(s)-1 {
		return rest
	}
	return s
}

// zone reads "Z" or "+01:00" and returns minutes east of UTC.
func zone(s string) (minutes int, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+01:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hour, minute := decimal(s[1:3]), decimal(s[4:6])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false
	}
	minutes = hour*60 + minute
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, true
}

func endsMonth(last time.Time) bool {
	next := last.Add(time.Second)
	return next.Day() == 1 && next.Hour() == 0 && next.Minute() == 0
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

// decimal reads digits only; -1 when there is anything else.
func decimal(s string) int {
	value := 0
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return -1
		}
		value = value*10 + int(s[i]-'0')
	}
	return value
}
