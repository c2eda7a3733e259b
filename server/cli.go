package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/alecthomas/kong"
	"schakel/server/cli"
	"schakel/server/contractcmd"
	"schakel/server/mutationcmd"
	"schakel/server/release"
	"schakel/store"
)

// CLI is the command line of the program. Every flag can also be given as an
// environment variable: --base-url is SCHAKEL_BASE_URL.
type CLI struct {
	LogFlags

	Version kong.VersionFlag `env:"-" help:"Print version, commit and date, and stop."`

	Serve   ServeCmd   `cmd:"" help:"Run Schakel: portal, register, intake and delivery."`
	Demo    DemoCmd    `cmd:"" help:"Run two Schakels with sample data in a scratch folder, to look around."`
	Migrate MigrateCmd `cmd:"" help:"Bring the database to this version and stop."`
	Backup  BackupCmd  `cmd:"" help:"Write a backup, also while Schakel runs."`
	Restore RestoreCmd `cmd:"" help:"Make a database of a backup, after checking it."`
	User    UserCmd    `cmd:"" help:"Make portal accounts and one-time links from the command line."`
	Client  ClientCmd  `cmd:"" help:"Manage machine clients from the command line."`
	Profile ProfileCmd `cmd:"" help:"Show, export and import the settings of the chain collaboration."`
	Token   TokenCmd   `cmd:"" help:"Get an access token as a machine client, for curl and scripts."`
	Publish PublishCmd `cmd:"" help:"Send an event from a file or standard input to a Schakel."`

	Contract  contractcmd.Commands `cmd:"" help:"Validate, compare, publish and fetch contracts, for build pipelines."`
	Mutations mutationcmd.Commands `cmd:"" help:"Publish, follow and check mutation files."`

	Changelog ChangelogCmd `cmd:"" help:"Print what changed in each version."`
}

// ChangelogCmd prints the changelog of the build that runs.
type ChangelogCmd struct{}

// Run writes the Markdown as it is, for a terminal and for a pager alike.
func (*ChangelogCmd) Run(_ context.Context, streams cli.Streams) error {
	_, err := io.WriteString(streams.Out, release.Changelog())
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
	MailFlags
	OIDCFlags
	cli.OutboundFlags
	DeliveryFlags
	PullFlags
	AMQPFlags
	RetentionFlags
	LimitFlags

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
