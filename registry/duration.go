package registry

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a time such as 90s or 1h30m; a number of days such as 7d too.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d != d.Truncate(time.Millisecond) || strings.ContainsAny(text, "+-") {
		return 0, errors.New("not a time")
	}
	return d, nil
}

// ParseDurations reads times with commas between them.
func ParseDurations(text string) ([]time.Duration, error) {
	var list []time.Duration
	for word := range strings.SplitSeq(text, ",") {
		d, err := ParseDuration(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// FormatDuration writes a duration without the zeroes at its end: 168h, not 168h0m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
