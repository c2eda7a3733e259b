package main

import (
	"bytes"
	"strings"
	"testing"

	"schakel/server/cli"
)

// commandWith runs a command with standard input as main does.
func commandWith(t *testing.T, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, cli.Streams{In: strings.NewReader(input), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

// command runs the program with these arguments and returns its exit code and what it said.
func command(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	return commandWith(t, "", args...)
}

// says runs the program, wants this exit code and these words from it.
func says(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	if code, out, problems := command(t, args...); code != want || !strings.Contains(out+problems, words) {
		t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", args, code, want, words, out, problems)
	}
}
