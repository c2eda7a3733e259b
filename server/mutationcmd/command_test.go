package mutationcmd

import (
	"context"
	"testing"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// execute runs a command as the program does.
func execute(ctx context.Context, args []string, streams cli.Streams) int {
	var grammar struct {
		Mutations Commands `cmd:""`
	}
	return clitest.Execute(ctx, &grammar, args, streams)
}

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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
