// Package clitest runs commands in tests of their packages, and holds the input that these tests share. A command runs in the
// process of the test, with streams of its own; server/e2e tests the built program. Only tests may import it.
package clitest

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"schakel/server/cli"
)

// Execute runs a command of a grammar, whose log goes nowhere, and returns the exit code.
func Execute(ctx context.Context, grammar any, args []string, streams cli.Streams) int {
	return cli.Execute(ctx, grammar, func(io.Writer) *slog.Logger { return slog.New(slog.DiscardHandler) }, args, streams)
}

// Program runs a command line and returns its exit code.
type Program func(ctx context.Context, args []string, streams cli.Streams) int

// Run runs a command line with standard input, and returns its exit code and what it printed.
func (p Program) Run(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	var o, e strings.Builder
	code = p(t.Context(), args, cli.Streams{In: strings.NewReader(input), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

// Says runs a command line, and expects this exit code and these words from it.
func (p Program) Says(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	if code, out, problems := p.Run(t, "", args...); code != want || !strings.Contains(out+problems, words) {
		t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", args, code, want, words, out, problems)
	}
}
