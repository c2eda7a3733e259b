package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/server/cli"
)

// Every flag that names a file with a secret, of every subcommand, refuses one that others can read.
func TestFilesWithSecretsAreNotForOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "secret")
	must(t, os.WriteFile(open, []byte("s3cret\n"), 0o600))
	must(t, os.Chmod(open, 0o644))
	event := filepath.Join(dir, "event.json")
	must(t, os.WriteFile(event, []byte(`{}`), 0o600))
	serve := []string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--database", "sqlite:" + filepath.Join(dir, "x.db"), "--secret-key-file", filepath.Join(dir, "x.key")}
	with := func(args ...string) []string { return append(append([]string{}, serve...), args...) }
	const url = "http://127.0.0.1:1"
	for _, args := range [][]string{
		with("--tls-cert", open, "--tls-key", open),
		with("--smtp-host", "127.0.0.1", "--smtp-from", "a@example.nl", "--smtp-password-file", open),
		with("--oidc-issuer", "https://127.0.0.1:1", "--oidc-client-id", "x", "--oidc-client-secret-file", open),
		with("--trace-endpoint", url, "--trace-token-file", open),
		{"publish", "--url", url, "--client-id", "x", "--client-secret-file", open, event},
		{"contract", "pull", "--url", url, "--output", "-", "--token-file", open, "x"},
		{"contract", "pull", "--url", url, "--output", "-", "--client-id", "x", "--client-secret-file", open, "x"},
		{"mutations", "follow", "--url", url, "--token-file", open, "--database", "sqlite:" + filepath.Join(dir, "y.db")},
		{"mutations", "follow", "--url", url, "--client-id", "x", "--client-secret-file", open, "--database", "sqlite:" + filepath.Join(dir, "z.db")},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var out, errs strings.Builder
		code := execute(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		cancel()
		if code == 0 || !strings.Contains(errs.String(), "chmod 600 "+open) {
			t.Errorf("%v: exit %d, %v: %s%s", args, code, errors.Join(ctx.Err()), out.String(), errs.String())
		}
	}
}
