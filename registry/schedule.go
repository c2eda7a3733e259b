package registry

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseSchedule reads a schedule as cron writes it. It refuses what comes round more
// often than once in least, or never.
func ParseSchedule(text string, least time.Duration) (cron.Schedule, error) {
	const example = `write it as cron does, such as "15 4 * * *" for every night at 4:15 UTC, or "@every 6h"`
	// What sets a time zone is left out on purpose: every time here is UTC.
	if text == "" || len(text) > 100 || strings.Contains(text, "=") {
		return nil, errors.New(example)
	}
	plan, err := cron.ParseStandard(text)
	if err != nil {
		return nil, errors.New(example)
	}
	at := plan.Next(time.Unix(0, 0).UTC())
	for range 50 {
		next := plan.Next(at)
		if at.IsZero() || next.IsZero() {
			return nil, errors.New("this never comes round; " + example)
		}
		if next.Sub(at) < least {
			return nil, fmt.Errorf("leave at least %s between two runs", inWords(least))
		}
		at = next
	}
	return plan, nil
}

// inWords writes a whole number of minutes below ten, or an hour.
func inWords(d time.Duration) string {
	switch d {
	case time.Hour:
		return "an hour"
	case time.Minute:
		return "a minute"
	case 5 * time.Minute:
		return "five minutes"
	}
	return d.String()
}
