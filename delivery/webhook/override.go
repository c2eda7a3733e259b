package webhook

import (
	"encoding/json"
	"fmt"
	"time"
)

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
