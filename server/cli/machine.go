package cli

import (
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

	"schakel/registry/identity/token"
	"schakel/server/release"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 20

// Machine calls a Schakel as a client of it. Its addresses come from the person at
// the command line, not from a partner, so it does not need the guard that
// deliveries have; it does refuse redirects, which would leak the token.
type Machine struct {
	Client            *http.Client
	agent             string // what of the program calls
	tokenURL          string
	ID, secret, scope string
	key               *token.ClientKey // signs assertions; nil: the secret is sent
	audience          string           // what the key signs for
	Token             string           // empty: not fetched yet
}

// NewMachine makes a client of the Schakel at base, without credentials. An empty tokenURL stands for its own token endpoint.
func NewMachine(agent, base, tokenURL string) *Machine {
	m := &Machine{agent: agent, tokenURL: tokenURL, Client: &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if m.tokenURL == "" {
		m.tokenURL = base + "/oauth/token"
	}
	return m
}

// Answer holds the response to one request.
type Answer struct {
	Status     int
	RetryAfter time.Duration
	Header     http.Header
	Body       []byte
}

// FetchToken gets an access token with the client's key (RFC 7523, SEC-02) or its secret (RFC 6749 section 4.4).
func (m *Machine) FetchToken(ctx context.Context) (Answer, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if m.scope != "" {
		form.Set("scope", m.scope)
	}
	if m.key != nil {
		assertion, err := m.key.Assertion(m.ID, m.audience, Clock())
		if err != nil {
			return Answer{}, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return Answer{}, fmt.Errorf("make token request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if m.key == nil {
		req.SetBasicAuth(url.QueryEscape(m.ID), url.QueryEscape(m.secret))
	}
	a, err := m.Do(req)
	if err != nil || a.Status != http.StatusOK {
		return a, err
	}
	var got struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(a.Body, &got); err != nil || got.AccessToken == "" {
		return a, errors.Join(errors.New("token endpoint gave no token"), err)
	}
	m.Token = got.AccessToken
	return a, nil
}

// Do sends a request and reads the answer, of at most maxAnswer bytes.
func (m *Machine) Do(req *http.Request) (Answer, error) {
	req.Header.Set("User-Agent", "schakel-"+m.agent+"/"+release.Current().Version)
	resp, err := m.Client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("read answer: %w", err)
	}
	return Answer{resp.StatusCode, retryAfter(resp.Header), resp.Header, body}, nil
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
