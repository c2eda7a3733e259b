package webhook

import "time"

// Schedule sets the times of the attempts at a failed delivery, and their end.
type Schedule struct {
	// Waits are the backoffs after the first, second, third failure and so on; the last one repeats. None means those of
	// DefaultSchedule.
	Waits []time.Duration
	// MaxAttempts ends the delivery after so many attempts. 0 means no limit but the deadline.
	MaxAttempts int
	// Jitter spreads a backoff by this share of it to both sides, from 0 to 1.
	Jitter float64
	// Deadline ends the delivery so long after the event was accepted. 0 means
	// no limit but the lifetime of the idempotency key.
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
