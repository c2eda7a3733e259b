package contracts

import "testing"

func TestPromisesNoBreak(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after string
		want          bool
	}{
		{"1.0.0", "1.0.1", true},
		{"1.0.0", "1.1.0", true},
		{"1.0.0", "1.1.0+build.1", true},
		{"1.9.0", "2.0.0", false},
		{"1.0.0", "1.1.0-rc.1", false},
		{"0.1.0", "0.1.1", true},
		{"0.1.0", "0.2.0", false},
		{"0.9.0", "1.0.0", false},
	} {
		if got := promisesNoBreak(tt.before, tt.after); got != tt.want {
			t.Errorf("%s to %s: %v", tt.before, tt.after, got)
		}
	}
}
