// Command schakel exchanges CloudEvents with the chain partners of the one
// organisation that runs it. This package holds what a process needs
// and nothing else: flags and environment, building the parts by hand and in
// order, starting and stopping them, and the subcommands.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the windows of endpoints are in time zones, which a small container does not have

	"schakel/server/cli"
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
