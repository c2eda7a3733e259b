// Package clitest runs commands in tests of their packages, and holds the input that these tests share.
package clitest

import (
	"context"
	"io"
	"log/slog"

	"schakel/server/cli"
)

// Execute runs a command of a grammar, whose log goes nowhere, and returns the exit code.
func Execute(ctx context.Context, grammar any, args []string, streams cli.Streams) int {
	return cli.Execute(ctx, grammar, func(io.Writer) *slog.Logger { return slog.New(slog.DiscardHandler) }, args, streams)
}
