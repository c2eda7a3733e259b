package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxPublishAnswer bounds what is read of an answer, in bytes.
const maxPublishAnswer = 1 << 20

// publisher sends one request until it is settled. Its addresses come from the
// person at the command line, not from a partner, so it does not need the guard
// that deliveries have; it does refuse redirects, which would leak the token.
type publisher struct {
	client   *http.Client
	eventURL string
	tokenURL string
	id       string
	secret   string
	key      string
	token    string
}

func newPublisher(c *PublishCmd, secret, key string) *publisher {
	base := strings.TrimRight(c.URL, "/")
	p := &publisher{
		eventURL: base + "/events/v1/events", tokenURL: c.TokenURL,
		id: c.ClientID, secret: secret, key: key,
		client: &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if p.tokenURL == "" {
		p.tokenURL = base + "/oauth/token"
	}
	return p
}

// answer is what came back on one request.
type answer struct {
	status     int
	retryAfter time.Duration
	body       []byte
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

// fetchToken gets an access token with the client's id and secret (RFC 6749 4.4).
func (p *publisher) fetchToken(ctx context.Context) (answer, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"events.publish"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, fmt.Errorf("make token request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(p.id), url.QueryEscape(p.secret))
	a, err := p.do(req)
	if err != nil || a.status != http.StatusOK {
		return a, err
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(a.body, &token); err != nil || token.AccessToken == "" {
		return a, errors.Join(errors.New("token endpoint gave no token"), err)
	}
	p.token = token.AccessToken
	return a, nil
}

func (p *publisher) do(req *http.Request) (answer, error) {
	req.Header.Set("User-Agent", "schakel-publish/"+version)
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("send: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPublishAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	return answer{resp.StatusCode, retryAfter(resp.Header), body}, nil
}

// retryAfter reads Retry-After, in seconds or as a date; nonsense is no wait.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.Atoi(v); err == nil && s > 0 && s < 1<<31 {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
