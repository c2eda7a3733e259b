package cli

import (
	"context"
	"net/http"
	"time"
)

// Temporary reports whether the same request may succeed later, by the status of its answer.
func Temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// Backoff returns 0.5 s, doubled every try, at most 15 s.
func Backoff(try int) time.Duration {
	return min(500*time.Millisecond<<min(try, 10), 15*time.Second)
}

// Wait waits for d. It gives up at once when the deadline of ctx comes first.
func Wait(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return context.DeadlineExceeded // no use in waiting for a try that will not come
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
