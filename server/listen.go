package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"schakel/server/cli"
)

// ListenCmd fetches the events of a pull subscription and forwards each to a program on this machine, as a webhook would bring it: for
// developers whose receiver the Schakel cannot reach. An event is acknowledged once the program answered 2xx, and given back otherwise,
// so stopping at any moment loses nothing.
type ListenCmd struct {
	cli.ClientCredentials
	URL          string        `name:"url" required:"" placeholder:"URL" help:"Base address of the Schakel, as https://events.example.nl."`
	Subscription string        `required:"" placeholder:"ID" help:"The pull subscription to receive from, sub_…; the portal shows it at the subscription."`
	Forward      string        `placeholder:"URL" help:"Where each event is posted, as http://localhost:3000/events. Default: events are printed, one a line, and acknowledged."`
	Once         bool          `help:"Stop when no event is left. Default: keep listening until Ctrl-C."`
	Retry        time.Duration `default:"2s" help:"How long to wait before an event that the program refused is offered to it again; doubled while it fails, up to a minute."`
}

// CheckFlags checks what flags cannot say one by one.
func (c *ListenCmd) CheckFlags() error {
	if err := cli.CheckURL(c.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if c.Forward != "" {
		if err := cli.CheckURL(c.Forward); err != nil {
			return fmt.Errorf("--forward: %w", err)
		}
	}
	switch {
	case c.ClientID == "":
		return errors.New("--client-id is missing: say which client receives, and give its --client-key-file or secret")
	case strings.ContainsAny(c.Subscription, "/?#"):
		return errors.New("--subscription is an id, such as sub_01J…")
	case c.Retry <= 0:
		return errors.New("--retry must be longer than 0, as 2s")
	}
	return nil
}

// What one receive asks for.
const (
	listenEvents = 20
	listenWait   = 20 // seconds
	listenLease  = 60 // seconds in which a program answers to listenEvents events; what it does not get to comes again
)

// How long to wait for answers, and at most between two tries of a program that fails.
const (
	programTimeout = 30 * time.Second
	schakelTimeout = 10 * time.Second // without the time that a receive waits
	longestPause   = time.Minute
)

// Run listens until the context ends, or with --once until nothing is left.
func (c *ListenCmd) Run(ctx context.Context, streams cli.Streams) error {
	m, err := c.Machine("listen", strings.TrimRight(c.URL, "/"), "events.consume")
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: schakelTimeout / 2}).DialContext // an address that swallows packets is told of soon
	m.Client.Transport = transport
	l := newListener(c, m, streams)
	for {
		handled, err := l.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // stopped by Ctrl-C
		case err != nil:
			return err
		case c.Once && handled == 0:
			return nil
		}
	}
}

// listener receives, forwards and settles.
type listener struct {
	*ListenCmd
	machine  *cli.Machine
	program  *http.Client // reaches the program on this machine
	out, log io.Writer
	base     string // of the Schakel, without a slash at the end

	listens bool   // the Schakel answered, and that was said
	told    string // what is wrong with it, as it was said last
	tries   int    // in a row that it did not take
	fails   int    // answers of the program in a row that refused an event
	most    int    // events that are received at a time: one while the program fails, and twice as many after each success
}

func newListener(c *ListenCmd, m *cli.Machine, streams cli.Streams) *listener {
	l := &listener{
		ListenCmd: c, machine: m, out: streams.Out, log: streams.Err, base: strings.TrimRight(c.URL, "/"), most: 1,
		program: &http.Client{Timeout: programTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	m.Troubled = l.troubled
	return l
}
