package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"schakel/registry"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/backup"
)

// RestoreCmd makes a database of a backup.
type RestoreCmd struct {
	DatabaseFlags
	From  string `required:"" placeholder:"FILE" help:"The backup."`
	Check bool   `help:"Only read the whole backup and say what is in it; write nothing."`
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
	b, err := backup.Open(ctx, f, info.Size())
	if err == nil && c.Check {
		err = b.Check(ctx)
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
	if warning := keyWarning(c.SecretKeyFile, b.Manifest.SecretKeyID); warning != "" {
		fmt.Fprintln(streams.Err, "warning:", warning)
	}
	return nil
}

// keyWarning describes why the key file does not open secrets sealed with the key named; empty when it does.
func keyWarning(path, id string) string {
	if id == "" {
		return ""
	}
	// Opening the vault would make a key when there is none.
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("there is no key file %s: put the copy of key %s there before Schakel starts, or stored secrets stay closed", path, id)
	}
	vault, err := registry.OpenVault(path)
	if err != nil {
		return err.Error()
	}
	if vault.ID() != id {
		return fmt.Sprintf("the key in %s is %s, but the secrets are sealed with key %s: Schakel does not start with this file", path, vault.ID(), id)
	}
	return ""
}
