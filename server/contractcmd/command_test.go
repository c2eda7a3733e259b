package contractcmd

import (
	"context"
	"testing"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// execute runs a command as the program does.
func execute(ctx context.Context, args []string, streams cli.Streams) int {
	var grammar struct {
		Contract Commands `cmd:""`
	}
	return clitest.Execute(ctx, &grammar, args, streams)
}

// commandWith runs a command with standard input.
func commandWith(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	return clitest.Program(execute).Run(t, input, args...)
}
