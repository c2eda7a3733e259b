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
	"schakel/server/release"
)

// helpShown carries kong's own exit, after --help, back to Execute as a panic.
type helpShown int

// Execute parses the arguments by a grammar of kong and runs the command in them; it returns the exit code. newLog makes
// the log once the flags are read.
func Execute(ctx context.Context, grammar any, newLog func(io.Writer) *slog.Logger, args []string, streams Streams) (code int) {
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(helpShown)
			if !ok {
				panic(r)
			}
			code = int(c)
		}
	}()
	parser, err := NewParser(grammar, streams)
	if err != nil {
		fmt.Fprintln(streams.Err, "schakel:", err)
		return ExitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(streams.Err, "schakel:", err)
		return ExitUsage
	}
	command.BindTo(ctx, (*context.Context)(nil))
	return ExitCode(command.Run(streams, newLog(streams.Err)), streams)
}

// NewParser makes the parser of the arguments, which takes flags from the environment too.
func NewParser(grammar any, streams Streams) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name("schakel"),
		kong.Description("Exchange events with chain partners."),
		kong.DefaultEnvars("SCHAKEL"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(streams.Out, streams.Err),
		kong.Vars{"version": release.Current().String()},
		kong.Exit(func(code int) { panic(helpShown(code)) }),
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
