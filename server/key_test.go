package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/server/cli"
	"schakel/store/needs"
)

// The commands list the keys and change them, with a file that the program keeps, and with a command or a variable whose keys somebody else
// keeps, while the program runs; a key that does not fit is told with its name.
func TestKeyCommands(t *testing.T) {
	t.Parallel()
	needs.Full(t, "many starts of the program")
	cfg := inDir(t.TempDir())
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := p.start(t.Context(), cli.Streams{Out: &out}); err != nil {
		t.Fatal(err)
	}
	with := func(args ...string) []string {
		return append(append([]string{"key"}, args...), "--database", cfg.Database, "--secret-key-file", cfg.SecretKeyFile)
	}
	fetch(t, "http://"+p.admin.Addr()+"/readyz") // which makes the first signing key
	says(t, cli.ExitOK, "  in use\n", with()...)
	says(t, cli.ExitOK, "signing_key.private_key  1", with("show", "--verbose")...)
	says(t, cli.ExitFailed, "holds no key that was in use before", with("remove")...)
	says(t, cli.ExitOK, "made key ", with("rotate")...)
	if keys := lines(t, cfg.SecretKeyFile); len(keys) != 2 {
		t.Errorf("%d keys in the file", len(keys))
	}
	says(t, cli.ExitOK, "; schakel key remove removes it", with("show")...)
	if status, body := fetch(t, "http://"+p.admin.Addr()+"/readyz"); status != 200 {
		t.Errorf("not ready after the change: %s", body)
	}
	says(t, cli.ExitOK, "is removed from key file ", with("remove")...)
	if keys := lines(t, cfg.SecretKeyFile); len(keys) != 1 {
		t.Errorf("%d keys left in the file", len(keys))
	}
	if err := p.stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	by := func(args ...string) []string {
		return append(append([]string{"key"}, args...), "--database", cfg.Database, "--key-command", "cat "+cfg.SecretKeyFile)
	}
	says(t, cli.ExitFailed, "make one with schakel key new, and let key command cat give it", by("rotate")...)
	_, fresh, _ := command(t, "key", "new")
	old := lines(t, cfg.SecretKeyFile)[0]
	if err := os.WriteFile(cfg.SecretKeyFile, []byte(old+"\n"+fresh), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitOK, "new, not in use yet", by("show")...)
	says(t, cli.ExitOK, "seals everything", by("rotate")...)
	says(t, cli.ExitOK, "take it out of what key command cat gives", by("remove")...)
	says(t, cli.ExitUsage, "--key-variable or --key-command, not both", append(by("show"), "--key-variable", "X")...)
	if err := os.WriteFile(cfg.SecretKeyFile, []byte(old+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitFailed, "the key does not fit the stored secrets", by("show")...)
	says(t, cli.ExitFailed, "variable SCHAKEL_NO_KEY: it holds no key", "key", "--database", cfg.Database, "--key-variable", "SCHAKEL_NO_KEY")
	says(t, cli.ExitFailed, "there is no database", "key", "--database", "sqlite:"+filepath.Join(t.TempDir(), "none.db"))
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}
