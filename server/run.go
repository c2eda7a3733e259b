package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"schakel/server/cli"
)

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
