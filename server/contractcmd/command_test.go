package contractcmd

import (
	"strings"
	"testing"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// commandWith runs a command with standard input as the program does.
func commandWith(t *testing.T, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	var grammar struct {
		Contract Commands `cmd:""`
	}
	var o, e strings.Builder
	code = clitest.Execute(t.Context(), &grammar, args, cli.Streams{In: strings.NewReader(input), Out: &o, Err: &e})
	return code, o.String(), e.String()
}
