package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxParsedWait keeps absurd values inside what a time.Duration can hold; the
// policy in Schedule.MaxRetryAfter is far below it.
const maxParsedWait = 100 * 365 * 24 * time.Hour

// ParseRetryAfter reads a Retry-After header (RFC 9110 10.2.3): whole seconds,
// or an HTTP date, which is counted from now. The result is never negative and
// at most a century. It is false when the value is neither.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(maxParsedWait/time.Second) {
			return maxParsedWait, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxParsedWait), true
}
