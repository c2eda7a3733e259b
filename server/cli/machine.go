package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"schakel/delivery/mutation/replica"
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

	// Troubled is told of each try of Post that was not taken and is made again; an error of it ends the tries. Default: they go on until the context ends.
	Troubled func(a Answer, err error) error
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

// Post sends a body with the token of the client until it is taken, refused, or the context ends, and gives the body of the answer. What is
// refused is an [ExitError] with ExitRefused, what was given up one with ExitGaveUp.
func (m *Machine) Post(ctx context.Context, address string, header http.Header, body []byte) ([]byte, error) {
	freshToken := false
	for try := 0; ; try++ {
		a, err := m.tryPost(ctx, address, header, body)
		switch {
		case err == nil && a.Status >= 200 && a.Status < 300:
			return a.Body, nil
		case err == nil && a.Status == http.StatusUnauthorized && !freshToken:
			m.Token, freshToken = "", true // it may have expired between two tries
			continue
		case NoToken(err):
			return a.Body, &ExitError{Code: ExitRefused, Err: err}
		case err == nil && !Temporary(a.Status):
			return a.Body, &ExitError{Code: ExitRefused, Err: fmt.Errorf("refused with status %d", a.Status)}
		}
		if m.Troubled != nil && ctx.Err() == nil {
			if err := m.Troubled(a, err); err != nil {
				return a.Body, err
			}
		}
		if waitErr := Wait(ctx, max(Backoff(try), a.RetryAfter)); waitErr != nil {
			if err == nil {
				err = fmt.Errorf("last answer had status %d", a.Status)
			}
			return a.Body, &ExitError{Code: ExitGaveUp, Err: fmt.Errorf("gave up: %w", err)}
		}
	}
}

func (m *Machine) tryPost(ctx context.Context, address string, header http.Header, body []byte) (Answer, error) {
	if m.Token == "" {
		a, err := m.FetchToken(ctx)
		if err == nil && a.Status != http.StatusOK {
			err = RefusedToken(a)
		}
		if err != nil {
			return a, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("make request: %w", err)
	}
	req.Header = header.Clone()
	req.Header.Set("Authorization", "Bearer "+m.Token)
	return m.Do(req)
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

// Problem describes why a request did not succeed (RFC 9457).
type Problem struct {
	Title  string         `json:"title"`
	Detail string         `json:"detail"`
	Code   string         `json:"code"`
	Errors []ProblemError `json:"errors"`
}

// ProblemError names one fault in the request.
type ProblemError struct {
	Pointer  string `json:"pointer,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity,omitempty"`
	Code     string `json:"code"`
	Detail   string `json:"detail"`
}

// Problem reads the problem+json of an answer; an answer of another kind gives an empty one.
func (a Answer) Problem() (p Problem) {
	if json.Unmarshal(a.Body, &p) != nil {
		return Problem{}
	}
	return p
}

// Refusal returns an answer as an error in one line.
func (a Answer) Refusal() error {
	p := a.Problem()
	text := strings.TrimSpace(p.Detail)
	if text == "" {
		return fmt.Errorf("the register answers with status %d", a.Status)
	}
	for _, e := range p.Errors {
		text += " " + strings.TrimSpace(strings.TrimPrefix(e.Pointer, "/")+": "+e.Detail)
	}
	return fmt.Errorf("the register answers with status %d: %s", a.Status, text)
}

// tokenRefused reports that a token endpoint gave no token: the status of its answer, and what it said.
type tokenRefused struct {
	status int
	detail string // error_description of RFC 6749 section 5.2; empty when there is none
}

// RefusedToken makes a tokenRefused of the answer of a token endpoint.
func RefusedToken(a Answer) tokenRefused {
	var body struct {
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(a.Body, &body) // a body of another shape has no description
	return tokenRefused{a.Status, body.Description}
}

// Error implements error.
func (r tokenRefused) Error() string {
	text := fmt.Sprintf("the token endpoint answers with status %d", r.status)
	if r.detail != "" {
		text += " (" + r.detail + ")"
	}
	ours := audienceWanted.FindStringSubmatch(r.detail)
	switch {
	case Temporary(r.status):
	case ours != nil:
		text += ": give --token-audience " + ours[1] + ", or call the Schakel by its own address, --url " + ours[2]
	case r.status == http.StatusBadRequest || r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		text += ": look at the id and the key or secret of the client, at --token-audience where the Schakel is called by another address than its own, and whether the client may have this scope"
	default:
		text += ": look at --token-url, or leave the client out where no token is asked"
	}
	return text
}

// audienceWanted finds the addresses for which a Schakel wants assertions.
var audienceWanted = regexp.MustCompile(`aud must be the token endpoint (\S+) or the issuer ([^\s,]+)`)

// Is matches replica.ErrAccess, so that a follower knows that asking again makes no difference.
func (r tokenRefused) Is(target error) bool {
	return target == replica.ErrAccess && !Temporary(r.status)
}

// NoToken reports whether there will be no token, however often one is asked for.
func NoToken(err error) bool {
	refused, ok := errors.AsType[tokenRefused](err)
	return ok && !Temporary(refused.status)
}

// Temporary reports whether the same request may succeed later, by the status of its answer.
func Temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// Backoff returns 0.5 s, doubled every try, at most 15 s.
func Backoff(try int) time.Duration {
	return min(500*time.Millisecond<<min(try, 10), 15*time.Second)
}

// Wait waits for d. It gives up at once when the deadline of ctx comes first.
func Wait(ctx context.Context, d time.Duration) error {
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

// CheckURL refuses to send a secret in the clear to another machine.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return errors.New("is missing: give an address, as https://events.example.nl")
	case err != nil || u.Host == "":
		return errors.New("begins with https://, or with http:// for this machine itself: " + withScheme(raw))
	case u.User != nil:
		return errors.New("must be an https address without a user name")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
	if u.Scheme == "https" || (u.Scheme == "http" && local) {
		return nil
	}
	return errors.New("must be https; http only goes to this machine itself")
}

// withScheme shows how an address is written that was given without https://, or else how any is.
func withScheme(raw string) string {
	host, _, _ := strings.Cut(raw, ":")
	u, err := url.Parse("https://" + raw)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || strings.Contains(raw, ":/"):
		return "http://localhost:3000/events"
	case host == "localhost" || strings.HasPrefix(host, "127."):
		return "http://" + raw
	}
	return "https://" + raw
}

// HostOf returns an address without its path.
func HostOf(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
