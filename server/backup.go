package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"schakel/registry"
	"schakel/registry/installation"
	"schakel/server/cli"
	"schakel/server/release"
	"schakel/store"
	"schakel/store/backup"
)

// BackupCmd writes a backup of everything that is in the database.
type BackupCmd struct {
	cli.ConfigFlags
	BackupFlags
	Database string `default:"sqlite:./data/schakel.db" help:"sqlite:PATH or postgres://…"`
	Record   string `placeholder:"WHAT" help:"Make no backup: note in the database that one was made in another way, such as \"pg_basebackup to the vault\"."`
	To       string `placeholder:"FILE" help:"Where the backup goes; - is standard output. A file there is replaced when the new backup is whole."`
}

// Help is shown with --help.
func (c *BackupCmd) Help() string {
	return "The backup is of one moment. Schakel goes on meanwhile: nobody waits for it. " +
		"It holds personal data, and secrets that are sealed with the key of --secret-key-file. " +
		"That key is not in it: keep a copy of that file, elsewhere. With --backup-recipient it is encrypted in the age format, while it is written."
}

// Run writes the backup and prints what it contains.
func (c *BackupCmd) Run(ctx context.Context, streams cli.Streams) error {
	if err := existing(c.Database); err != nil {
		return err
	}
	db, err := store.Open(ctx, c.Database, store.Options{Now: cli.Clock})
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Record != "" {
		return c.recordOther(ctx, db, streams)
	}
	key, err := registry.StoredKeyID(ctx, db)
	if err != nil {
		return err
	}
	info := backup.Info{Program: release.Current().Version, SecretKeyID: key}
	done := installation.Record{Place: c.To, KeyID: key}
	recipients, err := backup.Recipients(c.BackupRecipients)
	if err != nil {
		return err
	}
	var m backup.Manifest
	write := func(w io.Writer) error {
		out := &counted{to: w}
		to, err := backup.Encrypt(out, recipients)
		if err != nil {
			return err
		}
		if m, err = backup.Write(ctx, db, to, info); err != nil {
			return err
		}
		err = to.Close()
		done.Bytes = out.n
		return err
	}
	told, what := streams.Out, "backup written to "+c.To
	if c.To == "-" {
		told, what, err = streams.Err, "backup written", write(streams.Out)
	} else {
		err = writeWhole(c.To, write)
	}
	if err != nil {
		return err
	}
	describe(told, what, m)
	if len(recipients) > 0 {
		fmt.Fprintf(told, "encrypted in the age format; recipients: %d\n", len(recipients))
	}
	if c.To == "-" {
		return c.record(ctx, db, done, streams)
	}
	if done.Place, err = filepath.Abs(c.To); err != nil {
		done.Place = c.To
	}
	return c.record(ctx, db, done, streams)
}

// record notes the backup in the database, so that the installation page and schakel doctor know of it. The backup is good whatever comes of
// that, so a failure is a warning.
func (c *BackupCmd) record(ctx context.Context, db *store.DB, done installation.Record, streams cli.Streams) error {
	if err := installation.RecordBackup(ctx, db, "schakel backup", done); err != nil {
		fmt.Fprintln(streams.Err, "warning: the backup is whole, but the database could not note it:", err)
	}
	return nil
}

// recordOther notes a backup that another program made.
func (c *BackupCmd) recordOther(ctx context.Context, db *store.DB, streams cli.Streams) error {
	if err := installation.RecordBackup(ctx, db, "schakel backup", installation.Record{Place: c.Record}); err != nil {
		return err
	}
	fmt.Fprintln(streams.Out, "noted: "+c.Record)
	return nil
}

// CheckFlags checks what flags cannot say one by one.
func (c *BackupCmd) CheckFlags() error {
	if (c.To == "") == (c.Record == "") {
		return errors.New("give --to FILE, or --record WHAT")
	}
	return nil
}

// counted counts what is written.
type counted struct {
	to io.Writer
	n  int64
}

// Write implements io.Writer.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// existing keeps a mistyped path from becoming a new, empty database.
func existing(database string) error {
	path, ok := strings.CutPrefix(database, "sqlite:")
	if !ok {
		return nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s: name it with --database", path)
	}
	return err
}

// describe summarises a backup in a few lines.
func describe(w io.Writer, what string, m backup.Manifest) {
	fmt.Fprintf(w, "%s\ntaken at %s from %s, schema version %d, by Schakel %s\n%d rows in %d tables\n",
		what, m.TakenAt.Format(time.RFC3339), m.Database, m.SchemaVersion, m.Program, m.Rows(), len(m.Tables))
	if m.SecretKeyID != "" {
		fmt.Fprintf(w, "secrets are sealed with key %s, which is not in the backup\n", m.SecretKeyID)
	}
}

// writeWhole writes a file beside its place and puts it there when it is whole and on the disk; until then whatever was
// there stays. Only the owner can read it. Two at once for the same file are refused; what a killed one left is used again.
func writeWhole(path string, write func(io.Writer) error) error {
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	defer f.Close()
	if err := takeFile(f, part); err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("put file in place: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// takeFile makes an open file ours alone, and empty. The kernel lets go of it when the process ends, however it ends.
func takeFile(f *os.File, path string) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another backup is being written to %s: %w", path, err)
	}
	ours, err := f.Stat()
	if err != nil {
		return err
	}
	// Between opening and locking another one may have finished this very file and put it in place.
	there, err := os.Stat(path)
	if err != nil || !os.SameFile(ours, there) {
		return fmt.Errorf("another backup was just written to %s: try again", path)
	}
	return f.Truncate(0)
}

// RestoreCmd makes a database of a backup.
type RestoreCmd struct {
	DatabaseFlags
	From     string    `required:"" placeholder:"FILE|FOLDER" help:"The backup, or the folder of --replicate-to."`
	At       time.Time `placeholder:"TIME" help:"Of a folder: leave out what was committed later, as 2026-09-01T08:15:00Z. Default: all that is there."`
	Identity string    `placeholder:"FILE" help:"File with the age identity that opens an encrypted backup. Refused when others can read it: mode 0600."`
	Check    bool      `help:"Only read the whole backup and say what is in it; write nothing."`
}

// Help is shown with --help.
func (c *RestoreCmd) Help() string {
	return "The database must be new: a file that is not there yet, or an empty PostgreSQL database, whichever kind the backup was made of. " +
		"Stop Schakel first. What was delivered after the backup is delivered again, under the same id and Idempotency-Key; " +
		"what was accepted, changed or revoked after it is lost. Everybody has to log in again."
}

// Run checks the backup, restores it, and prints what to look after.
func (c *RestoreCmd) Run(ctx context.Context, streams cli.Streams) error {
	f, err := os.Open(c.From)
	if err != nil {
		return fmt.Errorf("open backup: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open backup: %w", err)
	}
	switch {
	case info.IsDir():
		return c.fromReplica(ctx, streams)
	case !c.At.IsZero():
		return errors.New("--at is for the folder of a replica: a backup in a file is of one moment")
	}
	b, err := c.open(ctx, f, info.Size())
	if err == nil && c.Check {
		err = b.Check(ctx)
	}
	if errors.Is(err, backup.ErrEncrypted) {
		err = fmt.Errorf("%w, as --identity FILE", err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.From, err)
	}
	describe(streams.Out, c.From+" is whole", b.Manifest)
	if !c.Check {
		if err := b.Restore(ctx, c.Database, store.Options{Now: cli.Clock}); err != nil {
			return err
		}
		fmt.Fprintln(streams.Out, "restored; every row was read back and compared")
	}
	if warning := keyWarning(ctx, c.keys(), b.Manifest.SecretKeyID); warning != "" {
		fmt.Fprintln(streams.Err, "warning:", warning)
	}
	return nil
}

// open opens a backup, which may be encrypted; it is decrypted while it is read, and lies readable nowhere.
func (c *RestoreCmd) open(ctx context.Context, f *os.File, size int64) (*backup.File, error) {
	identities, err := c.identities()
	if err != nil {
		return nil, err
	}
	r, size, err := backup.Decrypt(f, size, identities)
	if err != nil {
		return nil, err
	}
	return backup.Open(ctx, r, size)
}

func (c *RestoreCmd) identities() ([]byte, error) {
	if c.Identity == "" {
		return nil, nil
	}
	text, err := cli.ReadSecretFile(c.Identity)
	if err != nil {
		return nil, fmt.Errorf("age identity: %w", err)
	}
	return []byte(text), nil
}

// keyWarning describes why the key file does not open secrets sealed with the key named; empty when it does.
func keyWarning(ctx context.Context, source registry.KeySource, id string) string {
	if id == "" {
		return ""
	}
	vault, err := source.OpenExisting(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no key file %s: put the copy of key %s there before Schakel starts, or stored secrets stay closed", source.File, id)
	case err != nil:
		return err.Error()
	case !slices.Contains(vault.KeyIDs(), id):
		return fmt.Sprintf("the key in %s is %s, but the secrets are sealed with key %s: Schakel does not start with this file", cmp.Or(source.Variable, source.Command, source.File), strings.Join(vault.KeyIDs(), ", "), id)
	}
	return ""
}
