package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Schedule sets the times of the attempts at a failed delivery, and their end.
type Schedule struct {
	// Waits are the backoffs after the first, second, third failure and so on; the last one repeats. None means those of
	// DefaultSchedule.
	Waits []time.Duration
	// MaxAttempts ends the delivery after so many attempts. 0 means no limit but the deadline.
	MaxAttempts int
	// Jitter spreads a backoff by this share of it to both sides, from 0 to 1.
	Jitter float64
	// Deadline ends the delivery so long after the event was accepted. 0 means no limit but the lifetime of the idempotency key.
	Deadline time.Duration
	// MaxRetryAfter caps the wait that a receiver may ask for. 0 means 24 hours.
	MaxRetryAfter time.Duration
}

// DefaultSchedule tries quickly at first, then every six hours until the
// idempotency key dies after seven days (IDEM-07): about 35 attempts.
func DefaultSchedule() Schedule {
	return Schedule{
		Waits: []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute,
			30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
		},
		MaxAttempts:   50,
		Jitter:        0.2,
		Deadline:      7 * 24 * time.Hour,
		MaxRetryAfter: 24 * time.Hour,
	}
}

// wait returns the backoff after the given attempt, counted from 1.
func (s Schedule) wait(attempt int, random func() float64) time.Duration {
	if len(s.Waits) == 0 {
		s.Waits = DefaultSchedule().Waits
	}
	base := s.Waits[min(max(attempt, 1), len(s.Waits))-1]
	if random == nil || s.Jitter <= 0 {
		return base
	}
	return base + time.Duration(float64(base)*min(s.Jitter, 1)*(2*random()-1))
}

// cap bounds the wait that the receiver asked for and reports whether it had to.
func (s Schedule) cap(asked time.Duration) (time.Duration, bool) {
	most := s.MaxRetryAfter
	if most <= 0 {
		most = DefaultSchedule().MaxRetryAfter
	}
	return min(asked, most), asked > most
}

// maxParsedWait keeps absurd values inside what a time.Duration can hold; the policy in Schedule.MaxRetryAfter is far below it.
const maxParsedWait = 100 * 365 * 24 * time.Hour

// ParseRetryAfter reads a Retry-After header (RFC 9110 10.2.3): whole seconds, or an HTTP date, which is counted from now. The
// result is never negative and at most a century. It is false when the value is neither.
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

// Override holds the retry settings of a subscription; a zero member takes the chain's schedule (EDU-18).
type Override struct {
	Waits       []time.Duration
	MaxAttempts int
	Deadline    time.Duration
}

// ParseOverride reads an Override as it is stored, "" for none:
//
//	{"waits":["5s","1m"],"maxAttempts":10,"deadline":"24h"}
func ParseOverride(text string) (Override, error) {
	if text == "" {
		return Override{}, nil
	}
	var in struct {
		Waits       []string `json:"waits"`
		MaxAttempts int      `json:"maxAttempts"`
		Deadline    string   `json:"deadline"`
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return Override{}, fmt.Errorf("read retry schedule: %w", err)
	}
	o := Override{MaxAttempts: in.MaxAttempts}
	for _, word := range in.Waits {
		wait, err := time.ParseDuration(word)
		if err != nil || wait <= 0 {
			return Override{}, fmt.Errorf("read retry schedule: %q is no pause", word)
		}
		o.Waits = append(o.Waits, wait)
	}
	if in.Deadline == "" {
		return o, nil
	}
	var err error
	if o.Deadline, err = time.ParseDuration(in.Deadline); err != nil {
		return Override{}, fmt.Errorf("read retry schedule: %w", err)
	}
	return o, nil
}

// With returns the schedule with the overrides of a subscription.
func (s Schedule) With(o Override) Schedule {
	if len(o.Waits) > 0 {
		s.Waits = o.Waits
	}
	if o.MaxAttempts > 0 {
		s.MaxAttempts = o.MaxAttempts
	}
	if o.Deadline > 0 {
		s.Deadline = o.Deadline
	}
	return s
}
