package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"schakel/registry"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/needs"
	"schakel/store/storetest"
)

// used makes a database as a Schakel leaves it behind, with its key file, and names both.
func used(t *testing.T) (database, key string) {
	t.Helper()
	cfg := inDir(t.TempDir())
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.db.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg.Database, cfg.SecretKeyFile
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	dir := t.TempDir()
	file, target := filepath.Join(dir, "b.zip"), "sqlite:"+filepath.Join(dir, "new", "s.db")
	says(t, cli.ExitOK, "backup written to "+file, "backup", "--database", database, "--to", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file %v, %v; want it readable for its owner alone", info, err)
	}
	code, out, _ := command(t, "backup", "--database", database, "--to", "-")
	if code != cli.ExitOK || !strings.HasPrefix(out, "PK") || strings.Contains(out, "backup written") {
		t.Errorf("standard output: exit code %d, %.20q", code, out)
	}
	says(t, cli.ExitOK, "is whole", "restore", "--from", file, "--check", "--secret-key-file", key)
	says(t, cli.ExitOK, "read back and compared", "restore", "--from", file, "--database", target, "--secret-key-file", key)
	says(t, cli.ExitFailed, "move it away first", "restore", "--from", file, "--database", target)

	cfg := inDir(t.TempDir())
	cfg.Database, cfg.SecretKeyFile = target, key
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.start(t.Context(), cli.Streams{Out: io.Discard}), p.stop(t.Context())); err != nil {
		t.Error(err)
	}
}

// A backup that is encrypted by setting holds nothing readable; it is checked and restored with an identity of a recipient, and each reason
// why it is not opened is told.
func TestEncryptedBackup(t *testing.T) {
	t.Parallel()
	needs.Full(t, "many backups, read back")
	database, key := used(t)
	dir := t.TempDir()
	file, target, mine := filepath.Join(dir, "b.zip.age"), "sqlite:"+filepath.Join(dir, "new", "s.db"), filepath.Join(dir, "identity")
	one, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "schakel.yaml")
	for path, text := range map[string]string{
		mine: "# created for this test\n" + one.String() + "\n", mine + ".other": other.String(), config: "database: " + database + "\nbackup-recipient: [" + one.Recipient().String() + "]\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says(t, cli.ExitOK, "encrypted in the age format; recipients: 1", "backup", "--config", config, "--to", file)
	if written, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(written), "age-encryption.org/v1\n") || strings.Contains(string(written), "manifest.json") {
		t.Errorf("%.40q, %v", written, err)
	}
	if code, out, problems := command(t, "backup", "--database", database, "--to", "-", "--backup-recipient", one.Recipient().String()); code != cli.ExitOK ||
		!strings.HasPrefix(out, "age-encryption.org/v1\n") || !strings.Contains(problems, "recipients: 1") {
		t.Errorf("standard output: exit code %d, %.30q, %s", code, out, problems)
	}
	check := []string{"restore", "--check", "--from", file, "--secret-key-file", key}
	says(t, cli.ExitFailed, "as --identity FILE", check...)
	says(t, cli.ExitFailed, "none of these age identities", append(check, "--identity", mine+".other")...)
	says(t, cli.ExitFailed, "read age identities", append(check, "--identity", key)...)
	says(t, cli.ExitOK, "is whole", append(check, "--identity", mine)...)
	says(t, cli.ExitOK, "read back and compared", "restore", "--from", file, "--database", target, "--secret-key-file", key, "--identity", mine)
	says(t, cli.ExitUsage, "--backup-recipient: ", "backup", "--database", database, "--to", file, "--backup-recipient", "age1nobody")
	if err := os.Chmod(mine, 0o644); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitFailed, "chmod 600 "+mine, append(check, "--identity", mine)...)
}

func TestRestoreIntoPostgres(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	file, target := filepath.Join(t.TempDir(), "b.zip"), storetest.PostgresURL(t)
	says(t, cli.ExitOK, "from sqlite", "backup", "--database", database, "--to", file)
	says(t, cli.ExitOK, "read back", "restore", "--from", file, "--database", target, "--secret-key-file", key)
	says(t, cli.ExitFailed, "make an empty database", "restore", "--from", file, "--database", target)
	says(t, cli.ExitOK, "from postgres", "backup", "--database", target, "--to", file)
}

func TestRestoreWarnsOfTheKey(t *testing.T) {
	t.Parallel()
	needs.Full(t, "many backups, read back")
	database, key := used(t)
	file := filepath.Join(t.TempDir(), "b.zip")
	says(t, cli.ExitOK, "sealed with key", "backup", "--database", database, "--to", file)
	other := filepath.Join(t.TempDir(), "other.key")
	check := []string{"restore", "--check", "--from", file, "--secret-key-file"}
	says(t, cli.ExitOK, "there is no key file", append(check, other)...)
	if _, err := os.Stat(other); err == nil {
		t.Error("looking for a key made one")
	}
	if _, err := registry.OpenVault(other); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitOK, "Schakel does not start with this file", append(check, other)...)
	if _, _, problems := command(t, append(check, key)...); problems != "" {
		t.Errorf("the right key: %s", problems)
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	database, _ := used(t)
	dir := t.TempDir()
	absent, file := filepath.Join(dir, "absent.db"), filepath.Join(dir, "b.zip")
	says(t, cli.ExitFailed, "there is no database", "backup", "--database", "sqlite:"+absent, "--to", file)
	if _, err := os.Stat(absent); err == nil {
		t.Error("a mistyped path became a database")
	}
	says(t, cli.ExitUsage, "--to", "backup", "--database", database)
	says(t, cli.ExitFailed, "make file", "backup", "--database", database, "--to", filepath.Join(dir, "no", "such", "b.zip"))
	if err := os.WriteFile(file, []byte("no backup at all, only a file that is long enough to hold the seal of one, or nearly so"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitFailed, "damaged or cut off", "restore", "--from", file, "--database", "sqlite:"+absent)
	says(t, cli.ExitOK, "backup written", "backup", "--database", database, "--to", file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, cli.ExitFailed, "damaged or cut off", "restore", "--from", file, "--database", "sqlite:"+absent)
	if left, _ := filepath.Glob(absent + "*"); left != nil {
		t.Errorf("a refused restore left %v", left)
	}
}

// Two backups to the same file do not mix, and a failed one leaves the old file and nothing beside it.
func TestWriteWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "b.zip")
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	if err := os.WriteFile(path+".part", []byte("much more than what comes, left by a killed one"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeWhole(path, func(w io.Writer) error {
		if err := writeWhole(path, write("second")); err == nil || !strings.Contains(err.Error(), "another backup") {
			t.Errorf("a second one at once: %v", err)
		}
		return write("first")(w)
	})
	if err != nil {
		t.Error(err)
	}
	fail := errors.New("disk full")
	if err := writeWhole(path, func(w io.Writer) error { return errors.Join(write("half")(w), fail) }); !errors.Is(err, fail) {
		t.Errorf("error %v", err)
	}
	got, err := os.ReadFile(path)
	if left, _ := filepath.Glob(path + "*"); err != nil || string(got) != "first" || len(left) != 1 {
		t.Errorf("%q, %v; beside it %v", got, err, left)
	}
}

// asVictim makes the test binary run the program with the arguments in it, to be killed meanwhile.
const asVictim = "SCHAKEL_TEST_ARGS"

// Killed in the middle, a backup leaves no half file under its name, and a restore no half database.
func TestKilledInTheMiddle(t *testing.T) {
	if args := os.Getenv(asVictim); args != "" {
		os.Exit(execute(t.Context(), strings.Split(args, "\n"), cli.Streams{Out: os.Stdout, Err: os.Stderr}))
	}
	t.Parallel()
	needs.Full(t, "many processes, one after the other")
	database, key := used(t)
	large(t, database)
	dir := t.TempDir()
	file, target := filepath.Join(dir, "b.zip"), filepath.Join(dir, "s.db")
	backup := []string{"backup", "--database", database, "--to", file}
	restore := []string{"restore", "--from", file, "--database", "sqlite:" + target, "--secret-key-file", key}

	for i := range 5 {
		killAfter(t, time.Duration(60+i*15)*time.Millisecond, backup)
		if _, err := os.Stat(file); err == nil {
			says(t, cli.ExitOK, "is whole", "restore", "--check", "--from", file, "--secret-key-file", key)
		}
	}
	says(t, cli.ExitOK, "backup written", backup...) // what the killed ones left is no hindrance
	for i := range 5 {
		killAfter(t, time.Duration(80+i*60)*time.Millisecond, restore)
		if _, err := os.Stat(target); err == nil {
			says(t, cli.ExitOK, "backup written", "backup", "--database", "sqlite:"+target, "--to", filepath.Join(dir, "again.zip"))
			if err := os.Remove(target); err != nil {
				t.Fatal(err)
			}
		} else if _, err := os.Stat(target + ".restoring"); err == nil {
			says(t, cli.ExitFailed, "remove that folder and try again", restore...)
		}
		if err := os.RemoveAll(target + ".restoring"); err != nil {
			t.Fatal(err)
		}
	}
	says(t, cli.ExitOK, "read back", restore...)
}

// large adds enough rows that a backup takes a while.
func large(t *testing.T, database string) {
	t.Helper()
	db, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		for range 20_000 {
			if err := tx.InsertAudit(t.Context(), store.Audit{ActorKind: "system", Action: "x", Detail: strings.Repeat("x", 200)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// killAfter runs the program in a process of its own and kills it. Wherever the kill falls, the verdict is the same.
func killAfter(t *testing.T, d time.Duration, args []string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledInTheMiddle$")
	child.Env = append(os.Environ(), asVictim+"="+strings.Join(args, "\n"))
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(d, func() { _ = child.Process.Kill() })
	defer timer.Stop()
	_ = child.Wait()
}

// A backup of a running Schakel is taken while it works, and it goes on.
func TestBackupOfARunningSchakel(t *testing.T) {
	t.Parallel()
	needs.Full(t, "many backups, read back")
	cfg := inDir(t.TempDir())
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.start(t.Context(), cli.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var written sync.WaitGroup
	written.Go(func() {
		for ctx.Err() == nil {
			err := p.db.Write(ctx, func(tx *store.Tx) error { return tx.SetSetting(ctx, "test", tx.NewID("x")) })
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	file := filepath.Join(t.TempDir(), "b.zip")
	for range 3 {
		says(t, cli.ExitOK, "backup written", "backup", "--database", cfg.Database, "--to", file)
		says(t, cli.ExitOK, "is whole", "restore", "--check", "--from", file, "--secret-key-file", cfg.SecretKeyFile)
	}
	stop()
	written.Wait()
	if err := p.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
