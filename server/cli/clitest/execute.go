// Package clitest runs commands in tests of their packages, and holds the input that these tests share. A command runs in the
// process of the test, with streams of its own; server/e2e tests the built program. Only tests may import it.
package clitest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
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

// RoundTripper answers requests without a network, so that time can be the test's.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// AnswerWith makes a response.
func AnswerWith(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// A contract without faults, and one with errors.
const (
	GoodContract = `openapi: 3.2.0
info: {title: Schools, version: 1.0.0}
paths:
  /schools:
    get:
      operationId: listSchools
      responses:
        "200":
          description: The schools.
          content: {application/json: {schema: {$ref: '#/components/schemas/School'}}}
components:
  schemas:
    School: {type: object, required: [name, town], properties: {name: {type: string}, town: {type: string}}}
`
	BrokenContract = "openapi: 3.1.0\ninfo:\n  title: Schools\n  version: 1.0.0\npaths:\n  /schools/{id}:\n    get:\n      responses: {\"200\": {description: One}}\n"
)

// WriteFiles writes files in a new folder. It returns a function that gives the path of each.
func WriteFiles(t *testing.T, files map[string]string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}
