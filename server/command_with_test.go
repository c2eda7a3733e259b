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
