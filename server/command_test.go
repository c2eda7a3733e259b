package main

import (
	"testing"

	"schakel/server/cli/clitest"
)

// commandWith runs a command with standard input.
func commandWith(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	return clitest.Program(execute).Run(t, input, args...)
}

func command(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	return commandWith(t, "", args...)
}

// says runs a command, and expects this exit code and these words from it.
func says(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	clitest.Program(execute).Says(t, want, words, args...)
}
