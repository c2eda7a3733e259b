package main

import (
	"context"
	"fmt"
	"io"

	"schakel/server/cli"
)

// ConfigCmd prints an example of a file of settings, or checks one.
type ConfigCmd struct {
	Check string `env:"-" placeholder:"FILE" help:"Read a file of settings as schakel serve would, and say what is wrong in it."`
}

// Help is shown with --help.
func (c *ConfigCmd) Help() string {
	return "The example holds every setting with its default and what it does, all commented out. Keep what you change, and start with schakel serve --config FILE; " +
		"the commands on the same database, such as doctor and backup, take the same file."
}

// Run prints the example, or the verdict on a file.
func (c *ConfigCmd) Run(_ context.Context, streams cli.Streams) error {
	parser, err := cli.NewParser(&CLI{}, cli.Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		return err
	}
	if c.Check == "" {
		return cli.WriteExample(streams.Out, parser)
	}
	if _, err := cli.Parse(parser, []string{"serve", "--config", c.Check}); err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%s is right\n", c.Check)
	return nil
}
