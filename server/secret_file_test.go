package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSecretMode(t *testing.T) {
	t.Parallel()
	root, service, other := fileOwner{0, 0}, fileOwner{0, 50}, fileOwner{1000, 50}
	for _, c := range []struct {
		name   string
		mode   fs.FileMode
		owner  fileOwner
		uid    int
		remedy string
	}{
		{"own", 0o600, other, 1000, ""},
		{"own, read only", 0o400, other, 1000, ""},
		{"a pipe", 0o666 | fs.ModeNamedPipe, other, 1000, ""},
		{"of root for the group of the service", 0o640, service, 1000, ""},
		{"as Kubernetes mounts it", 0o440, service, 1000, ""},
		{"that group may write", 0o660, service, 1000, "chmod 640 "},
		{"everybody reads", 0o644, service, 1000, "chmod 640 "},
		{"another group", 0o640, root, 1000, "chmod 600 "},
		{"a group of a user", 0o640, other, 1000, "chmod 600 "},
		{"root itself", 0o640, root, 0, "chmod 600 "},
		{"others only", 0o604, other, 1000, "chmod 600 "},
		{"others write", 0o602, other, 1000, "chmod 600 "},
	} {
		err := secretMode("/etc/schakel/secret", c.mode, c.owner, c.uid, []int{7, 50})
		if (err == nil) != (c.remedy == "") || err != nil && !strings.HasSuffix(err.Error(), "run: "+c.remedy+"/etc/schakel/secret") {
			t.Errorf("%s: %v, want %q", c.name, err, c.remedy)
		}
	}
}

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
		{"publish", "--url", url, "--client-id", "x", "--client-secret-file", open, event},
		{"contract", "pull", "--url", url, "--output", "-", "--token-file", open, "x"},
		{"contract", "pull", "--url", url, "--output", "-", "--client-id", "x", "--client-secret-file", open, "x"},
		{"mutations", "follow", "--url", url, "--token-file", open, "--database", "sqlite:" + filepath.Join(dir, "y.db")},
		{"mutations", "follow", "--url", url, "--client-id", "x", "--client-secret-file", open, "--database", "sqlite:" + filepath.Join(dir, "z.db")},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var out, errs strings.Builder
		code := execute(ctx, args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		cancel()
		if code == 0 || !strings.Contains(errs.String(), "chmod 600 "+open) {
			t.Errorf("%v: exit %d, %v: %s%s", args, code, errors.Join(ctx.Err()), out.String(), errs.String())
		}
	}
}
