package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"sync"
	"text/tabwriter"
	"time"

	"schakel/registry"
	"schakel/registry/keys"
	"schakel/registry/services"
	"schakel/server/cli"
)

// KeyCmd holds the commands for the keys that encrypt secrets at rest. They write to the database directly, also while the program runs.
type KeyCmd struct {
	Show   KeyShowCmd   `cmd:"" default:"withargs" help:"List the keys, and how many values each seals."`
	Rotate KeyRotateCmd `cmd:"" help:"Change to a new key and seal everything with it, also while Schakel runs."`
	Remove KeyRemoveCmd `cmd:"" help:"Remove a key from the key file that nothing needs any more."`
	New    KeyNewCmd    `cmd:"" help:"Print a new key, for a variable, a command or a file."`
}

// KeyFlags locate the data for the commands of keys.
type KeyFlags struct{ DatabaseFlags }

func (f KeyFlags) withKeys(ctx context.Context, log *slog.Logger, do func(*keys.Keys) error) error {
	db, err := openExisting(ctx, f.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	vault, err := f.keys().OpenExisting(ctx)
	if err != nil {
		return err
	}
	if err := vault.Check(ctx, db); err != nil {
		return err
	}
	return do(keys.New(registry.Config{DB: db, Now: cli.Clock, Log: log, Vault: vault}, services.Sealed()))
}

// KeyShowCmd lists the keys.
type KeyShowCmd struct {
	KeyFlags
	Verbose bool `help:"Also count by column of the database."`
}

// Run prints the keys.
func (c *KeyShowCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withKeys(ctx, log, func(k *keys.Keys) error {
		all, err := k.List(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "KEY\tVALUES\tSTATE")
		var lost int64
		for _, key := range all {
			id, state := key.ID, keyState(key)
			if id == "" {
				id = "none"
			} else if !key.There {
				lost += key.Values
			}
			fmt.Fprintf(w, "%s\t%d\t%s\n", id, key.Values, state)
			for _, p := range key.Places {
				if c.Verbose {
					fmt.Fprintf(w, "  %s\t%d\t\n", p.Column, p.Values)
				}
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if lost > 0 {
			return fmt.Errorf("%d values cannot be opened, for %s lacks their key: put a copy of that key beside the others", lost, c.keys())
		}
		return nil
	})
}

func keyState(key keys.Key) string {
	switch {
	case key.ID == "":
		return "stored by an older version without a seal; schakel serve seals them"
	case key.InUse:
		return "in use"
	case !key.There:
		return "missing"
	case key.Until.IsZero():
		return "new, not in use yet; schakel key rotate changes to it"
	case key.Values == 0:
		return "in use until " + key.Until.Format(time.RFC3339) + "; schakel key remove removes it"
	}
	return "in use until " + key.Until.Format(time.RFC3339) + "; schakel key rotate goes on"
}

// KeyWaitFlags bound the time in which nodes have to follow.
type KeyWaitFlags struct {
	Wait time.Duration `default:"2m" help:"How long to wait until every node that runs has the key in use, and uses it."`
}

func (f KeyWaitFlags) rotation(streams cli.Streams) keys.Rotation {
	return keys.Rotation{
		Actor: registry.SystemActor(), Wait: f.Wait, Pause: cli.Pause, Tell: func(text string) { fmt.Fprintln(streams.Out, text) },
	}
}

// KeyRotateCmd changes the key.
type KeyRotateCmd struct {
	KeyFlags
	KeyWaitFlags
}

// Help is shown with --help.
func (c *KeyRotateCmd) Help() string {
	return "With a key file the new key is made and added to it; nodes on other machines need the file too. With --key-variable or --key-command, " +
		"put the key that schakel key new prints beside the one in use first. Every node goes on at each moment. Run it again when it was " +
		"interrupted: it goes on where it was. The old key stays until schakel key remove. Backups from before need it: keep a copy with them."
}

// Run changes the key, and prints each step.
func (c *KeyRotateCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withKeys(ctx, log, func(k *keys.Keys) error {
		done, err := k.Rotate(ctx, c.rotation(streams))
		if err != nil {
			return err
		}
		for _, u := range done.Unopened {
			fmt.Fprintln(streams.Err, "warning:", u.Error())
		}
		if len(done.Unopened) > 0 {
			return fmt.Errorf("everything else is sealed with key %s, but %d values cannot be opened: see above", done.KeyID, len(done.Unopened))
		}
		fmt.Fprintf(streams.Out, "%d values were sealed anew; key %s seals everything\nkeep a copy of that key elsewhere, and confirm that on the page Installation\n", done.Sealed, done.KeyID)
		return nil
	})
}

// KeyRemoveCmd removes an old key.
type KeyRemoveCmd struct {
	KeyFlags
	KeyWaitFlags
	ID string `arg:"" optional:"" help:"The key, as schakel key lists it. Default: the only one that was in use before."`
}

// Run removes the key, and prints what to look after.
func (c *KeyRemoveCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return c.withKeys(ctx, log, func(k *keys.Keys) error {
		done, err := k.Remove(ctx, c.rotation(streams), c.ID)
		if err != nil {
			return err
		}
		if done.ByHand {
			fmt.Fprintf(streams.Out, "nothing needs key %s any more: take it out of what %s gives\n", done.KeyID, c.keys())
		} else {
			fmt.Fprintf(streams.Out, "key %s is removed from %s; remove it on other machines too\n", done.KeyID, c.keys())
		}
		if done.Sessions > 0 {
			fmt.Fprintf(streams.Out, "%d people who were filling in a form have to log in again\n", done.Sessions)
		}
		fmt.Fprintln(streams.Out, "backups from before the change need it: keep a copy as long as you keep those")
		return nil
	})
}

// KeyNewCmd prints a key.
type KeyNewCmd struct{}

// Run prints a new key.
func (*KeyNewCmd) Run(_ context.Context, streams cli.Streams) error {
	_, err := fmt.Fprintln(streams.Out, base64.StdEncoding.EncodeToString(registry.NewKey()))
	return err
}

// vaultKeys is the service with which a node follows changes of the key, and seals what older versions left without a seal.
type vaultKeys struct {
	keys *keys.Keys
	node string
	log  *slog.Logger

	follow *keys.Node
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (v *vaultKeys) Name() string { return "keys" }

// Start implements Service.
func (v *vaultKeys) Start(ctx context.Context) error {
	v.follow = v.keys.Node(v.node)
	if err := v.follow.Look(ctx); err != nil {
		return err
	}
	ctx, v.cancel = context.WithCancel(context.WithoutCancel(ctx))
	v.done.Go(func() {
		if n, err := v.keys.SealOld(ctx); err != nil && ctx.Err() == nil {
			v.log.WarnContext(ctx, "sealing what an older version stored failed; the next start tries again", "error", err)
		} else if n > 0 {
			v.log.InfoContext(ctx, "sealed what an older version stored", "values", n)
		}
		failed := false
		for cli.Pause(ctx, keys.LookEvery) {
			err := v.follow.Look(ctx)
			if err != nil && !failed && ctx.Err() == nil {
				v.log.WarnContext(ctx, "a change of the secret key cannot be followed; this is tried again", "error", err)
			}
			failed = err != nil
		}
	})
	return nil
}

// Stop implements Service.
func (v *vaultKeys) Stop(ctx context.Context) error {
	v.cancel()
	v.done.Wait()
	return v.follow.End(ctx)
}
