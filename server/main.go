// Command schakel is the one program an organisation runs to exchange
// CloudEvents with its chain partners. This package holds what a process needs
// and nothing else: flags and environment, building the parts by hand and in
// order, starting and stopping them, and the subcommands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the windows of endpoints are in time zones, which a small container does not have

	"github.com/alecthomas/kong"
	"schakel/server/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}

// Streams are the standard streams a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes of the program.
const (
	exitOK      = 0 // done
	exitFailed  = 1 // could not be done; the message says why
	exitUsage   = 2 // wrong flags or arguments
	exitRefused = 3 // publish: the other side refused the event; sending it again will not help
	exitGaveUp  = 4 // publish: still no answer that settles it when the time was up; run again with the same key
	exitSkipped = 3 // mutations follow: done, and some of the zips were left out
)

// exitError is an error that asks for an exit code of its own.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *exitError) Unwrap() error { return e.err }

// helpShown is how kong's own exit (after --help) travels back to execute.
type helpShown int

// execute parses the arguments and runs the command in them; it returns the exit
// code. It is what main runs and what tests start.
func execute(ctx context.Context, args []string, io Streams) (code int) {
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(helpShown)
			if !ok {
				panic(r)
			}
			code = int(c)
		}
	}()
	cli := CLI{}
	parser, err := newParser(&cli, io)
	if err != nil {
		fmt.Fprintln(io.Err, "schakel:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(io.Err, "schakel:", err)
		return exitUsage
	}
	command.BindTo(ctx, (*context.Context)(nil))
	return exitCode(command.Run(io, cli.LogFlags.logger(io.Err)), io)
}

func newParser(cli *CLI, io Streams) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("schakel"),
		kong.Description("Exchange events with chain partners."),
		kong.DefaultEnvars("SCHAKEL"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(io.Out, io.Err),
		kong.Vars{"version": release.Current().String()},
		kong.Exit(func(code int) { panic(helpShown(code)) }),
	)
}

func exitCode(err error, io Streams) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(io.Err, "schakel:", err)
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitFailed
}
