package cli

import (
	"context"
	"time"
)

// Clock is the one place where the program takes the time.
func Clock() time.Time { return time.Now() }

// Pause waits, and tells whether the context still lives.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
