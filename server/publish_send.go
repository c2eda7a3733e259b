package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// publisher sends one request until it is settled.
type publisher struct {
	*machine
	eventURL string
	key      string
}

func newPublisher(c *PublishCmd, key string) (*publisher, error) {
	base := strings.TrimRight(c.URL, "/")
	m, err := c.machine("publish", base, "events.publish")
	if err != nil {
		return nil, err
	}
	return &publisher{eventURL: base + "/events/v1/events", key: key, machine: m}, nil
}

// send tries until the event is taken, refused, or the context ends.
func (p *publisher) send(ctx context.Context, header http.Header, body []byte) ([]byte, error) {
	freshToken := false
	for try := 0; ; try++ {
		a, err := p.try(ctx, header, body)
		switch {
		case err == nil && a.status >= 200 && a.status < 300:
			return a.body, nil
		case err == nil && a.status == http.StatusUnauthorized && !freshToken:
			p.token, freshToken = "", true // it may have expired between two tries
			continue
		case err == nil && !temporary(a.status):
			return a.body, &exitError{exitRefused, fmt.Errorf("refused with status %d", a.status)}
		}
		if waitErr := wait(ctx, max(backoff(try), a.retryAfter)); waitErr != nil {
			return a.body, gaveUp(a, err)
		}
	}
}

func gaveUp(a answer, err error) error {
	if err == nil {
		err = fmt.Errorf("last answer had status %d", a.status)
	}
	return &exitError{exitGaveUp, fmt.Errorf("gave up: %w", err)}
}

// temporary says of a status that the same request may succeed later.
func temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// backoff is 0.5 s, doubled every try, at most 15 s.
func backoff(try int) time.Duration {
	return min(500*time.Millisecond<<min(try, 10), 15*time.Second)
}

func wait(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return context.DeadlineExceeded // no use in waiting for a try that will not come
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (p *publisher) try(ctx context.Context, header http.Header, body []byte) (answer, error) {
	if p.token == "" {
		if a, err := p.fetchToken(ctx); err != nil || a.status != http.StatusOK {
			return a, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.eventURL, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	req.Header = header.Clone()
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Idempotency-Key", strconv.Quote(p.key))
	return p.do(req)
}
