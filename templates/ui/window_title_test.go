package ui

import "testing"

func TestWindowTitleSaysWhenAFormWasRefused(t *testing.T) {
	t.Parallel()
	for invalid, want := range map[bool]string{false: "Register - Schakel", true: "Error: Register - Schakel"} {
		if got := (Page{Title: "Register", Invalid: invalid}).windowTitle(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
