package cli

import (
	"context"
	"time"
)

// Clock returns the time of the machine. The program takes it nowhere else.
func Clock() time.Time { return time.Now() }

// Pause waits for d, and reports whether the context still lives.
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
