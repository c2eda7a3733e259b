package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"schakel/registry"
	"schakel/registry/audit"
	"schakel/server/cli"
	"schakel/store"
)

// AuditCmd holds the commands about the audit trail. They read the database directly, also while Schakel runs.
type AuditCmd struct {
	Verify     AuditVerifyCmd     `cmd:"" help:"Check that no entry of the audit trail was changed, removed, inserted or moved."`
	Checkpoint AuditCheckpointCmd `cmd:"" help:"Print a signed statement of what the audit trail is now, to keep elsewhere."`
	Export     AuditExportCmd     `cmd:"" help:"Write the entries to a file, a JSON object a line, and go on where that file ends."`
}

// AuditVerifyCmd walks the chain.
type AuditVerifyCmd struct {
	DatabaseFlags
	Checkpoint []string `placeholder:"FILE" help:"Checkpoint that was kept elsewhere (repeatable); - is standard input. The chain must pass it."`
}

// Help is shown with --help.
func (c *AuditVerifyCmd) Help() string {
	return "Each entry holds the hash of the one before it. The command computes all hashes again, compares them with the signed checkpoints in the " +
		"database and with those that are given, and names the first entry that is wrong. Exit code 0: all is as it was written; 1: something is wrong; 2: it could not be checked. " +
		"With the file of --secret-key-file it also proves that the key which signed is that of this installation."
}

// Run prints what was checked.
func (c *AuditVerifyCmd) Run(ctx context.Context, streams cli.Streams) error {
	return cli.PipelineError(c.run(ctx, streams))
}

func (c *AuditVerifyCmd) run(ctx context.Context, streams cli.Streams) error {
	var given []audit.Checkpoint
	for _, name := range c.Checkpoint {
		text, err := readInput(name, streams)
		if err != nil {
			return fmt.Errorf("read checkpoint: %w", err)
		}
		p, err := audit.ReadCheckpoint(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		given = append(given, p)
	}
	db, err := openExisting(ctx, c.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	vault, err := c.keys().OpenExisting(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		vault, err = nil, nil
	}
	if err != nil {
		return err
	}
	report, err := audit.Verify(ctx, db, vault, given)
	if err != nil {
		return err
	}
	printChain(streams.Out, report)
	if report.Broken != "" {
		return cli.FoundError("the audit trail is broken: " + report.Broken)
	}
	return nil
}

// openExisting opens a database whose tables this version knows, and changes nothing in it.
func openExisting(ctx context.Context, database string) (*store.DB, error) {
	if err := existing(database); err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, database, store.Options{Now: cli.Clock})
	if err != nil {
		return nil, err
	}
	current, target, err := db.MigrationState(ctx)
	if err == nil && current != target {
		err = fmt.Errorf("the database has version %d and this program works with %d: run schakel migrate, or the program of that version", current, target)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// readInput reads a small file; - is standard input.
func readInput(name string, streams cli.Streams) ([]byte, error) {
	const most = 64 << 10
	if name == "-" {
		return io.ReadAll(io.LimitReader(streams.In, most))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func printChain(w io.Writer, r audit.Report) {
	if r.Last == 0 {
		fmt.Fprintln(w, "no entries were checked")
	} else {
		fmt.Fprintf(w, "checked entries %d to %d of chain %s, written %s to %s\n", r.First, r.Last, r.Chain, r.From.UTC().Format(time.RFC3339), r.Until.UTC().Format(time.RFC3339))
	}
	if r.Pruned > 0 {
		fmt.Fprintf(w, "entries 1 to %d were removed by retention\n", r.Pruned)
	}
	if r.Adopted > 0 {
		fmt.Fprintln(w, "entries before one that tells audit.adopted were written without a hash: what is proved is that they did not change since that moment")
	}
	fmt.Fprintf(w, "passed %s in the database and %s kept elsewhere\n", cli.Plural(int64(r.Checkpoints), "checkpoint", "checkpoints"), cli.Plural(int64(r.Elsewhere), "checkpoint", "checkpoints"))
	if r.Past > 0 {
		fmt.Fprintf(w, "%s of entries that retention removed since: nothing is left to compare\n", cli.Plural(int64(r.Past), "checkpoint given is", "checkpoints given are"))
	}
	switch {
	case r.Key == "":
		fmt.Fprintln(w, "nothing was signed yet")
	case r.KeyOfVault:
		fmt.Fprintf(w, "signed with key %s, which the key file of this installation opens\n", r.Key)
	default:
		fmt.Fprintf(w, "signed with key %s, as the database says: without the file of --secret-key-file that is not proved\n", r.Key)
	}
}

// AuditCheckpointCmd signs the chain as it is.
type AuditCheckpointCmd struct {
	DatabaseFlags
}

// Help is shown with --help.
func (c *AuditCheckpointCmd) Help() string {
	return "Keep it where the administrators of the database cannot write: schakel audit verify --checkpoint FILE shows later that nothing before it was changed or removed."
}

// Run prints the checkpoint.
func (c *AuditCheckpointCmd) Run(ctx context.Context, streams cli.Streams) error {
	db, err := openExisting(ctx, c.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	vault, err := c.keys().OpenExisting(ctx)
	if err != nil {
		return err
	}
	if err := vault.Check(ctx, db); err != nil {
		return err
	}
	text, err := audit.New(registry.Config{DB: db, Now: cli.Clock, Vault: vault}).Sign(ctx)
	if err != nil {
		return err
	}
	if text == "" {
		return errors.New("the audit trail has no entries yet")
	}
	_, err = io.WriteString(streams.Out, text)
	return err
}

// checkpointEvery sets how long entries may be without a checkpoint behind them.
const checkpointEvery = 5 * time.Minute

// checkpoints is the service that signs the chain while it grows. The newest of each day goes to the log, which is often kept elsewhere.
type checkpoints struct {
	chain *audit.Chain
	log   *slog.Logger
	now   func() time.Time

	logged string // day of the last one in the log
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Name implements Service.
func (c *checkpoints) Name() string { return "audit" }

// Start implements Service.
func (c *checkpoints) Start(ctx context.Context) error {
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.done.Go(func() {
		for {
			c.sign(ctx)
			if !cli.Pause(ctx, checkpointEvery) {
				return
			}
		}
	})
	return nil
}

// Stop implements Service: it signs what was written since.
func (c *checkpoints) Stop(ctx context.Context) error {
	c.cancel()
	err := waitFor(ctx, &c.done)
	c.sign(ctx)
	return err
}

func (c *checkpoints) sign(ctx context.Context) {
	text, err := c.chain.SignNew(ctx)
	if err != nil && ctx.Err() == nil {
		c.log.WarnContext(ctx, "cannot sign the audit trail; this is tried again", "error", err)
	}
	if day := c.now().UTC().Format(time.DateOnly); text != "" && day != c.logged {
		c.logged = day
		c.log.InfoContext(ctx, "audit checkpoint of the day", "checkpoint", text)
	}
}
