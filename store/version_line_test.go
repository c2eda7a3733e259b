package store_test

import (
	"testing"

	"schakel/store"
)

// Rules: EDU-08, CE-16.
func TestFitsLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		versions, line string
		want           bool
	}{
		{"", "", true},
		{"", "1", true},
		{"1.0.0", "", true},
		{"1.4.2", "1", true},
		{"2.0.0", "1", false},
		{"10.0.0", "1", false},
		{"1.0.0", "10", false},
		{"2.0.0 1.9.0", "1", true},
		{"2.0.0 1.9.0", "3", false},
		{"0.3.1", "0.3", true},
		{"0.3.1", "0", false},
		{"0.4.0", "0.3", false},
		{"0.10.0", "0.1", false},
		{"2.0.0-rc.1", "2", true},
	} {
		if got := store.FitsLine(tt.versions, tt.line); got != tt.want {
			t.Errorf("FitsLine(%q, %q) = %t", tt.versions, tt.line, got)
		}
	}
}

func TestVersionLine(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.0.0": "1", "12.3.4-rc.1+5": "12", "0.3.1": "0.3", "0.0.1": "0.0", "": "", "7": "7",
	} {
		if got := store.VersionLine(version); got != want {
			t.Errorf("line of %q = %q, want %q", version, got, want)
		}
	}
}
