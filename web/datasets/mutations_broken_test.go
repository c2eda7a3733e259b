package datasets

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"schakel/delivery/mutation/format"
)

// TestBrokenOff tells a body that broke off from a database that went away: only of the first the sender is told.
//
// Rules: MUT-29.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"body":     {&bodyError{io.ErrUnexpectedEOF}, true},
		"file":     {fmt.Errorf("read: %w", format.ErrTruncated), true},
		"database": {fmt.Errorf("commit: %w", io.ErrUnexpectedEOF), false},
		"other":    {errors.New("no"), false},
	} {
		if got := brokenOff(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
