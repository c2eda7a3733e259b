package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"schakel/server/cli"
)

// publisher sends one request until it is settled.
type publisher struct {
	*cli.Machine
	eventURL string
	key      string
}

func newPublisher(c *PublishCmd, key string) (*publisher, error) {
	base := strings.TrimRight(c.URL, "/")
	m, err := c.Machine("publish", base, "events.publish")
	if err != nil {
		return nil, err
	}
	return &publisher{eventURL: base + "/events/v1/events", key: key, Machine: m}, nil
}

// send tries until the event is taken, refused, or the context ends.
func (p *publisher) send(ctx context.Context, header http.Header, body []byte) ([]byte, error) {
	freshToken := false
	for try := 0; ; try++ {
		a, err := p.try(ctx, header, body)
		switch {
		case err == nil && a.Status >= 200 && a.Status < 300:
			return a.Body, nil
		case err == nil && a.Status == http.StatusUnauthorized && !freshToken:
			p.Token, freshToken = "", true // it may have expired between two tries
			continue
		case err == nil && !cli.Temporary(a.Status):
			return a.Body, &cli.ExitError{Code: cli.ExitRefused, Err: fmt.Errorf("refused with status %d", a.Status)}
		}
		if waitErr := cli.Wait(ctx, max(cli.Backoff(try), a.RetryAfter)); waitErr != nil {
			return a.Body, gaveUp(a, err)
		}
	}
}

func gaveUp(a cli.Answer, err error) error {
	if err == nil {
		err = fmt.Errorf("last answer had status %d", a.Status)
	}
	return &cli.ExitError{Code: cli.ExitGaveUp, Err: fmt.Errorf("gave up: %w", err)}
}

func (p *publisher) try(ctx context.Context, header http.Header, body []byte) (cli.Answer, error) {
	if p.Token == "" {
		if a, err := p.FetchToken(ctx); err != nil || a.Status != http.StatusOK {
			return a, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.eventURL, bytes.NewReader(body))
	if err != nil {
		return cli.Answer{}, fmt.Errorf("make request: %w", err)
	}
	req.Header = header.Clone()
	req.Header.Set("Authorization", "Bearer "+p.Token)
	req.Header.Set("Idempotency-Key", strconv.Quote(p.key))
	return p.Do(req)
}
