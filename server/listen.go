package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
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
	Retry        time.Duration `default:"2s" help:"How long to wait before an event that the program refused is offered to it again."`
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
	if c.ClientID == "" {
		return errors.New("--client-id is missing: say which client receives")
	}
	if strings.ContainsAny(c.Subscription, "/?#") {
		return errors.New("--subscription is an id, such as sub_01J…")
	}
	return nil
}

// What one receive asks for.
const (
	listenEvents = 20
	listenWait   = 20 // seconds
	listenLease  = 60 // seconds in which a program answers to listenEvents events; what it does not get to comes again
)

// Run listens until the context ends, or with --once until nothing is left.
func (c *ListenCmd) Run(ctx context.Context, streams cli.Streams) error {
	base := strings.TrimRight(c.URL, "/")
	m, err := c.Machine("listen", base, "events.consume")
	if err != nil {
		return err
	}
	m.Client.Timeout = (listenWait + 30) * time.Second
	l := &listener{
		ListenCmd: c, machine: m, out: streams.Out, log: streams.Err, base: base + "/events/v1/subscriptions/" + c.Subscription,
		program: &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	fmt.Fprintf(streams.Err, "listening for events of %s\n", c.Subscription)
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
	base     string // of the verbs of the subscription
}

// leased is one event as the pull API hands it out.
type leased struct {
	Event json.RawMessage `json:"event"`
	Lease struct {
		LockToken     string `json:"lockToken"`
		DeliveryCount int64  `json:"deliveryCount"`
	} `json:"brokerProperties"`
}

// round receives once, and counts what it received.
func (l *listener) round(ctx context.Context) (int, error) {
	wait := listenWait
	if l.Once {
		wait = 0
	}
	body, err := l.post(ctx, "/receive", map[string]int{"maxEvents": listenEvents, "maxWaitTime": wait, "lockDuration": listenLease})
	if err != nil {
		return 0, err
	}
	var got struct{ Details []leased }
	if err := json.Unmarshal(body, &got); err != nil {
		return 0, fmt.Errorf("read what was received: %w", err)
	}
	var done, back []string
	for i, e := range got.Details {
		if ctx.Err() != nil || len(back) > 0 { // in order: what follows a refused event waits for it
			for _, rest := range got.Details[i:] {
				back = append(back, rest.Lease.LockToken)
			}
			break
		}
		if l.hand(ctx, e) {
			done = append(done, e.Lease.LockToken)
		} else {
			back = append(back, e.Lease.LockToken)
		}
	}
	// What was handed over is settled even when Ctrl-C came meanwhile.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := errors.Join(l.settle(ending, "/acknowledge", done), l.settle(ending, "/release", back)); err != nil {
		return len(got.Details), err
	}
	if len(back) > 0 {
		cli.Pause(ctx, l.Retry)
	}
	return len(got.Details), nil
}

// settle ends leases; without any there is nothing to say.
func (l *listener) settle(ctx context.Context, verb string, tokens []string) error {
	if len(tokens) == 0 {
		return nil
	}
	body, err := l.post(ctx, verb, map[string][]string{"lockTokens": tokens})
	if err != nil {
		return err
	}
	var answer struct {
		Failed []struct {
			LockToken string `json:"lockToken"`
		} `json:"failedLockTokens"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", verb, err)
	}
	if n := len(answer.Failed); n > 0 {
		fmt.Fprintf(l.log, "%s came too late for %s, which come again\n", strings.TrimPrefix(verb, "/"), cli.Plural(int64(n), "event", "events"))
	}
	return nil
}

func (l *listener) post(ctx context.Context, verb string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {strconv.Quote(uuid.NewString())}}
	answer, err := l.machine.Post(ctx, l.base+verb, header, text)
	if err != nil && len(answer) > 0 {
		fmt.Fprintln(l.log, strings.TrimSpace(string(answer)))
	}
	return answer, err
}

// hand gives one event to the program, or prints it; false when it has to come again.
func (l *listener) hand(ctx context.Context, e leased) bool {
	var shown struct{ ID, Source, Type string }
	_ = json.Unmarshal(e.Event, &shown) // the Schakel checked it
	if l.Forward == "" {
		_, err := fmt.Fprintf(l.out, "%s\n", e.Event)
		return err == nil
	}
	status, err := l.forward(ctx, e, shown.Source, shown.ID)
	if err != nil {
		fmt.Fprintf(l.log, "%s %s: %v; it is offered again\n", shown.Type, shown.ID, err)
		return false
	}
	if status < 200 || status > 299 {
		fmt.Fprintf(l.log, "%s %s: answered %d; it is offered again\n", shown.Type, shown.ID, status)
		return false
	}
	fmt.Fprintf(l.out, "%s %s: answered %d\n", shown.Type, shown.ID, status)
	return true
}

func (l *listener) forward(ctx context.Context, e leased, source, id string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Forward, bytes.NewReader(e.Event))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	req.Header.Set("Idempotency-Key", strconv.Quote(keyOf(source, id)))
	answer, err := l.program.Do(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
	return answer.StatusCode, nil
}

// keyOf is the key of an event: the same each time it is offered, as that of a webhook is (IDEM-02).
func keyOf(source, id string) string {
	sum := sha256.Sum256([]byte(source + "\x00" + id))
	key := uuid.UUID(sum[:16])
	key[6], key[8] = key[6]&0x0f|0x40, key[8]&0x3f|0x80 // version 4, RFC 9562
	return key.String()
}
