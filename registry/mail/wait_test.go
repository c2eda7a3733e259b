package mail

import (
	"testing"
	"time"
)

func TestMailWait(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int64]time.Duration{0: mailFirst, 1: mailFirst, 2: 2 * mailFirst, 7: 32 * time.Minute, 8: time.Hour, 1000: time.Hour} {
		if got := mailWait(attempts); got != want {
			t.Errorf("after %d: %s, want %s", attempts, got, want)
		}
	}
}
