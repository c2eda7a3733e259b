// Command schakel exchanges CloudEvents with the chain partners of the one
// organisation that runs it. This package holds what a process needs
// and nothing else: flags and environment, building the parts by hand and in
// order, starting and stopping them, and the subcommands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the windows of endpoints are in time zones, which a small container does not have

	"github.com/alecthomas/kong"
	"schakel/server/cli"
	"schakel/server/contractcmd"
	"schakel/server/mutationcmd"
	"schakel/server/packaging"
	"schakel/server/release"
	"schakel/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// execute runs the command in the arguments and returns the exit code; main and tests start the program with it.
func execute(ctx context.Context, args []string, streams cli.Streams) int {
	var all CLI
	newLog := func(w io.Writer) *slog.Logger { return all.LogFlags.logger(w) }
	return cli.Execute(ctx, &all, newLog, args, streams)
}

// CLI is the command line of the program. Every flag can also be given as an
// environment variable: --base-url is SCHAKEL_BASE_URL.
type CLI struct {
	LogFlags

	Version kong.VersionFlag `env:"-" help:"Print version, commit and date, and stop."`

	Serve   ServeCmd   `cmd:"" config:"" help:"Run Schakel: portal, register, intake and delivery."`
	Demo    DemoCmd    `cmd:"" help:"Run two Schakels with sample data in a scratch folder, to look around."`
	Migrate MigrateCmd `cmd:"" help:"Bring the database to this version and stop."`
	Doctor  DoctorCmd  `cmd:"" help:"Check an installation, whether it runs or not, and say what to mend."`
	Backup  BackupCmd  `cmd:"" help:"Write a backup, also while Schakel runs."`
	Restore RestoreCmd `cmd:"" help:"Make a database of a backup, after checking it."`
	Key     KeyCmd     `cmd:"" help:"Show the keys that encrypt secrets at rest, and change to another one."`
	User    UserCmd    `cmd:"" help:"Make portal accounts and one-time links from the command line."`
	Client  ClientCmd  `cmd:"" help:"Manage machine clients from the command line."`
	Profile ProfileCmd `cmd:"" help:"Show, export and import the settings of the chain collaboration."`
	Audit   AuditCmd   `cmd:"" help:"Check the audit trail, and sign what it is."`
	Token   TokenCmd   `cmd:"" help:"Get an access token as a machine client, for curl and scripts."`
	Publish PublishCmd `cmd:"" help:"Send an event from a file or standard input to a Schakel."`
	Check   CheckCmd   `cmd:"" help:"Check a receiver of webhooks: its TLS, its tokens, and its answers to good and wrong events."`

	Listen ListenCmd `cmd:"" help:"Receive the events of a pull subscription, and forward each to a program on this machine."`

	Contract  contractcmd.Commands `cmd:"" help:"Validate, compare, publish and fetch contracts, for build pipelines."`
	Mutations mutationcmd.Commands `cmd:"" help:"Publish, follow and check mutation files."`

	Config    ConfigCmd    `cmd:"" help:"Print an example of a file of settings for serve, or check one."`
	Changelog ChangelogCmd `cmd:"" help:"Print what changed in each version."`
	Licences  LicencesCmd  `cmd:"" help:"Print the licences of the software of others in this program."`
}

// ChangelogCmd prints the changelog of the build that runs.
type ChangelogCmd struct{}

// Run writes the Markdown as it is, for a terminal and for a pager alike.
func (*ChangelogCmd) Run(_ context.Context, streams cli.Streams) error {
	_, err := io.WriteString(streams.Out, release.Changelog())
	return err
}

// LicencesCmd prints the notices of third parties.
type LicencesCmd struct{}

// Run writes the Markdown as it is.
func (*LicencesCmd) Run(_ context.Context, streams cli.Streams) error {
	_, err := io.WriteString(streams.Out, packaging.Notices())
	return err
}

// DemoCmd runs two Schakels that exchange events, in a scratch folder.
type DemoCmd struct {
	Addr        string `default:"127.0.0.1:8080" help:"Where the first Schakel listens."`
	PartnerAddr string `default:"127.0.0.1:8081" help:"Where the Schakel that plays the partner listens."`
	Dir         string `placeholder:"FOLDER" help:"Scratch folder. Default: a new one, removed at the end."`
}

// Run runs the demo until the context ends.
func (c *DemoCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	return runDemo(ctx, *c, streams, log)
}

// ServeCmd runs one Schakel.
type ServeCmd struct {
	DatabaseFlags
	OrganisationFlags
	HTTPFlags
	ClientCertificateFlags
	MailFlags
	OIDCFlags
	TokenIssuerFlags
	MandateFlags
	cli.OutboundFlags
	DeliveryFlags
	PullFlags
	AMQPFlags
	RetentionFlags
	LimitFlags
	AlertFlags
	BackupFlags
	ReplicaFlags
	AuditFlags
	TraceFlags

	// What follows is for a demonstration on one machine, and no flag.
	Mailbox bool `kong:"-"` // shows the mails to everybody
}

// Run serves until the context ends, which SIGTERM and Ctrl-C make happen.
func (c *ServeCmd) Run(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	paceCollector()
	return run(ctx, *c, streams, log)
}

// MigrateCmd brings the database forward.
type MigrateCmd struct {
	DatabaseFlags
}

// Run migrates and says from what version to what.
func (c *MigrateCmd) Run(ctx context.Context, streams cli.Streams) error {
	// Alone, because a running program must not have its tables changed under it.
	db, err := store.Open(ctx, c.Database, store.Options{Now: cli.Clock, Alone: true})
	if err != nil {
		return err
	}
	defer db.Close()
	before, target, err := db.MigrationState(ctx)
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "database at version %d (was %d)\n", target, before)
	return nil
}

// stopTimeout sets how long all parts together get to finish what is in flight.
// The rest of the ten seconds that are promised is for ending the process.
const stopTimeout = 9 * time.Second

// run builds the program, starts it, waits for the context to end or a part to
// fail, and stops it in reverse.
func run(ctx context.Context, cfg ServeCmd, streams cli.Streams, log *slog.Logger) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p, err := build(ctx, cfg, log, fail)
	if err != nil {
		return err
	}
	return p.runUntilDone(ctx, streams, log)
}

// runUntilDone starts all parts and stops them when the context ends.
func (p *program) runUntilDone(ctx context.Context, streams cli.Streams, log *slog.Logger) error {
	// Being told to stop while starting is no failure of the start.
	if err := p.start(ctx, streams); err != nil && ctx.Err() == nil {
		return errors.Join(err, p.stop(ctx))
	}
	<-ctx.Done()
	log.InfoContext(ctx, "stopping")
	err := p.stop(ctx)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err) // a part failed by itself
	}
	return err
}

// start starts all parts and prints the address of the portal.
func (p *program) start(ctx context.Context, streams cli.Streams) error {
	if err := p.group.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "Schakel is at %s\n", p.base)
	link, err := p.setupLink(ctx)
	if err != nil || link == "" {
		return err
	}
	// Not in the log: whoever reads logs must not become administrator.
	fmt.Fprintf(streams.Out, "Create the administrator at %s (works once, for 24 hours)\n", link)
	return nil
}

// setupLink is the address where the first administrator is made; empty when
// there is one.
func (p *program) setupLink(ctx context.Context) (string, error) {
	token, err := p.accounts.SetupLink(ctx)
	if err != nil || token == "" {
		return "", err
	}
	return p.base + setupPath(token), nil
}

// stop stops all parts, whatever became of the context that ran them.
func (p *program) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return p.group.Stop(ctx)
}
