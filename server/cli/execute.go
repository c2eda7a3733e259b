// Package cli parses arguments, maps errors to exit codes, talks to a Schakel with the credentials of a client, and prints, for
// all commands of the program. A file with a secret that others can read is refused, and no secret is printed. The package knows no
// command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/alecthomas/kong"
)

// Command is a command of the program.
type Command interface {
	Run(ctx context.Context, streams Streams) error
}

// LoggingCommand is a command that also writes to the log.
type LoggingCommand interface {
	Run(ctx context.Context, streams Streams, log *slog.Logger) error
}

// Execute parses the arguments by a grammar of kong and runs the command in them; it returns the exit code. newLog makes
// the log once the flags are read.
func Execute(ctx context.Context, grammar any, newLog func(io.Writer) *slog.Logger, args []string, streams Streams) int {
	parser, err := NewParser(grammar, streams)
	if err != nil {
		fmt.Fprintln(streams.Err, "schakel:", err)
		return ExitFailed
	}
	command, err := Parse(parser, args)
	if err != nil {
		fmt.Fprintln(streams.Err, "schakel:", err)
		return ExitUsage
	}
	if command == nil { // --help or --version was printed
		return ExitOK
	}
	return ExitCode(run(ctx, command, newLog, streams), streams)
}

// run runs a command. kong's own Run would find the method by its name, see Parse.
func run(ctx context.Context, command any, newLog func(io.Writer) *slog.Logger, streams Streams) error {
	switch c := command.(type) {
	case LoggingCommand:
		return c.Run(ctx, streams, newLog(streams.Err))
	case Command:
		return c.Run(ctx, streams)
	}
	return fmt.Errorf("%T cannot be run", command)
}

// NewParser makes the parser of the arguments, which takes flags from the environment too.
func NewParser(grammar any, streams Streams) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("schakel"),
		kong.Description("Exchange events with chain partners."),
		kong.DefaultEnvars("SCHAKEL"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(streams.Out, streams.Err),
	)
}

// ExitCode prints an error and returns the exit code it asks for.
func ExitCode(err error, streams Streams) int {
	if err == nil {
		return ExitOK
	}
	fmt.Fprintln(streams.Err, "schakel:", err)
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	return ExitFailed
}
