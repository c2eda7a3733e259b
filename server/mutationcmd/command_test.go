package mutationcmd

import (
	"context"
	"strings"
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

func commandWith(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	var o, e strings.Builder
	code = execute(t.Context(), args, cli.Streams{In: strings.NewReader(input), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

func command(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	return commandWith(t, "", args...)
}

// says runs a command, wants this exit code and these words from it.
func says(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	if code, out, problems := command(t, args...); code != want || !strings.Contains(out+problems, words) {
		t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", args, code, want, words, out, problems)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
