// Command load measures a whole Schakel from outside: `go run ./server/load`, or `make bench`.
//
// It starts the program as a process of its own with a database in a scratch folder, publishes CloudEvents of 700 bytes
// to it over loopback and receives what it delivers, in this one process. Each line of its table is one scenario: how
// many events a second were accepted and delivered, how long it took from the 202 here to the receipt here, and what it
// cost. The ceiling is this loader posting straight to its own receiver, in the same run.
//
// It speaks HTTP/1.1 by hand, with prepared requests in which only the id and the key change, so that it takes as
// little as it can of the machine it shares with what it measures. Every event has a place in a ledger, named by its
// id: an event that was answered 202 and did not arrive ends the run with exit code 1.
//
// What it does not show: networks. All is on one machine, so the loader, the receiver, Schakel and the database share
// its processors; the column "others" gives the share of anything else on the machine meanwhile.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1)
	}
}

// run parses the flags, plays the scenarios that they choose and prints what came of them.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil || o == nil {
		return err
	}
	if o.Model != "" {
		return model(out, o.Model, modelOptions{o.Rate, o.Processors, o.Busy})
	}
	chosen, err := choose(scenarios(*o), o.Only)
	if err != nil {
		return err
	}
	if o.List {
		return list(out, chosen)
	}
	return play(ctx, *o, chosen, out)
}

type options struct {
	Only      string `default:"." placeholder:"REGEXP" help:"Scenarios to play, by name; what is needed to read them, the ceilings, comes along."`
	List      bool   `help:"Only list the scenarios."`
	Seconds   int    `default:"10" help:"How long each scenario sends. Use 60 for figures that are to be quoted."`
	Endpoints int    `default:"100" help:"Endpoints in the scenarios with many."`
	Batch     int    `default:"100" help:"Events in a batch."`
	Backlog   int    `default:"50000" help:"Events that wait in the scenarios with a backlog, and that are resent."`
	Connected int    `name:"connections" default:"96" help:"Connections that publish at once."`
	Postgres  string `env:"SCHAKEL_BENCH_POSTGRES" placeholder:"URL" help:"PostgreSQL on which to make databases. Default: a private one of the newest version installed; without one those scenarios are left out."`
	Binary    string `placeholder:"FILE" help:"Program to measure. Default: built from this source."`
	Scratch   string `placeholder:"DIR" help:"Where the databases go; the disk matters. Default: the temporary folder."`
	JSON      string `name:"json" placeholder:"FILE" help:"Also write the figures there, as JSON."`

	Peer       string   `placeholder:"URL" help:"Also measure another program: an HTTP intake that takes the same events, and was told to deliver them to http://--receive/events."`
	PeerHeader []string `name:"peer-header" sep:"none" placeholder:"'NAME: VALUE'" help:"Header of the requests to it, such as Authorization or another Content-Type. May be given more than once."`
	Receive    string   `default:"127.0.0.1:18080" placeholder:"HOST:PORT" help:"Where the receiver listens for the other program; it answers at once."`

	Model      string  `placeholder:"FILE" help:"Measure nothing: print how many databases and nodes a rate takes, by the figures in a file of --json."`
	Rate       int     `default:"100000" help:"Events a second, with --model."`
	Processors int     `default:"16" help:"Processors of a machine, with --model."`
	Busy       float64 `default:"0.6" help:"Share of them that may be in use, with --model."`
}

// parse reads the flags; no options and no error means that help was asked for.
func parse(args []string, out io.Writer) (*options, error) {
	o, ended := options{}, false
	parser, err := kong.New(&o, kong.Name("load"), kong.Description("Measures a whole Schakel from outside."),
		kong.Writers(out, out), kong.Exit(func(int) { ended = true }))
	if err != nil {
		return nil, fmt.Errorf("describe flags: %w", err)
	}
	_, err = parser.Parse(args)
	if ended {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read flags: %w", err)
	}
	return &o, nil
}

// Validate checks what flags cannot say one by one.
func (o *options) Validate() error {
	switch {
	case o.Seconds < 1 || o.Seconds > 600:
		return errors.New("--seconds must be from 1 to 600")
	case o.Endpoints < 2 || o.Endpoints > 500:
		return errors.New("--endpoints must be from 2 to 500")
	case o.Batch < 2 || o.Batch > 1000:
		return errors.New("--batch must be from 2 to 1000")
	case o.Connected < 1 || o.Connected > 1000:
		return errors.New("--connections must be from 1 to 1000")
	case o.Backlog < 1:
		return errors.New("--backlog must be at least 1")
	case o.Peer != "" && !strings.HasPrefix(o.Peer, "http://"):
		return errors.New("--peer must be an address that begins with http://")
	case o.Rate < 1 || o.Processors < 1:
		return errors.New("--rate and --processors must be at least 1")
	case o.Busy <= 0 || o.Busy > 1:
		return errors.New("--busy must be above 0, and at most 1")
	}
	return nil
}
