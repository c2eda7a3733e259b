package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RegisterFlags say which register to call, and as whom.
type RegisterFlags struct {
	ClientCredentials
	URL       string        `name:"url" placeholder:"URL" help:"Base address of the Schakel with the register, as https://events.example.nl."`
	Token     string        `placeholder:"TOKEN" help:"Read-only key or access token, in place of --client-id; better in SCHAKEL_TOKEN or --token-file, where other users cannot see it. What is public needs none."`
	TokenFile string        `placeholder:"FILE" help:"File that holds the token. Refused when others can read it: mode 0600."`
	MaxTime   time.Duration `default:"1m" help:"How long to keep trying while the register is busy or unreachable."`
}

// Validate checks what flags cannot say one by one.
func (f *RegisterFlags) Validate() error {
	if f.URL == "" {
		return nil
	}
	if err := checkPublishURL(f.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

// register calls the API of a register.
type register struct {
	*machine
	base    string
	maxTime time.Duration
}

// open makes what calls the register with a scope.
func (f *RegisterFlags) open(scope string) (*register, error) {
	if f.URL == "" {
		return nil, errors.New("say where the register is: --url or SCHAKEL_URL")
	}
	base := strings.TrimRight(f.URL, "/")
	m, err := f.machine("contract", base, scope)
	if err != nil {
		return nil, err
	}
	r := &register{machine: m, base: base, maxTime: f.MaxTime}
	r.client.Timeout = 2 * time.Minute // a large document takes its time
	r.token = f.Token
	if f.TokenFile != "" {
		r.token, err = readSecretFile(f.TokenFile)
	}
	return r, err
}

// call sends one request until it is settled, with the same Idempotency-Key each
// time, so that a try too many changes nothing.
func (r *register) call(ctx context.Context, method, path, contentType string, body []byte) (answer, error) {
	return r.callIf(ctx, method, path, contentType, body, "")
}

// callIf is call with an If-Match, unless that is empty.
func (r *register) callIf(ctx context.Context, method, path, contentType string, body []byte, match string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.maxTime)
	defer cancel()
	key := strconv.Quote(uuid.NewString())
	for try := 0; ; try++ {
		a, err := r.try(ctx, method, path, contentType, key, match, body)
		if err == nil && (!temporary(a.status) || a.status == http.StatusConflict) || noToken(err) {
			return a, err
		}
		if wait(ctx, max(backoff(try), a.retryAfter)) == nil {
			continue
		}
		if err == nil {
			err = fmt.Errorf("the register answers with status %d", a.status)
		}
		return a, fmt.Errorf("gave up: %w", err)
	}
}

func (r *register) try(ctx context.Context, method, path, contentType, key, match string, body []byte) (answer, error) {
	if r.token == "" && r.id != "" {
		if a, err := r.fetchToken(ctx); err != nil {
			return a, err
		} else if a.status != http.StatusOK {
			return a, refusedToken(a)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+"/registry/v1"+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if method != http.MethodGet {
		req.Header.Set("Idempotency-Key", key)
	}
	if match != "" {
		req.Header.Set("If-Match", match)
	}
	return r.do(req)
}

// fetch gets a version of a contract in a form ("original", "content",
// "content.json" or "content.yaml"), and checks that it is what the register says
// it sent. The version is the one that "latest" stands for.
func (r *register) fetch(ctx context.Context, id, version, form string) (content []byte, exact string, err error) {
	a, err := r.call(ctx, http.MethodGet, versionPath(id, version)+"/"+form, "", nil)
	if err != nil {
		return nil, "", err
	}
	if a.status != http.StatusOK {
		return nil, "", fmt.Errorf("fetch %s@%s: %w", id, version, a.refusal())
	}
	if err := checkDigest(a.header.Get("Repr-Digest"), a.body); err != nil {
		return nil, "", fmt.Errorf("fetch %s@%s: %w", id, version, err)
	}
	return a.body, exactVersion(a.header.Get("Content-Location"), version), nil
}

func contractPath(id string) string { return "/contracts/" + url.PathEscape(id) }

func versionPath(id, version string) string {
	return contractPath(id) + "/versions/" + url.PathEscape(version)
}

// exactVersion takes the version out of a Content-Location, when there is one.
func exactVersion(location, asked string) string {
	_, rest, found := strings.Cut(location, "/versions/")
	if !found {
		return asked
	}
	escaped, _, _ := strings.Cut(rest, "/")
	if version, err := url.PathUnescape(escaped); err == nil && version != "" {
		return version
	}
	return asked
}

// checkDigest holds bytes against the SHA-256 in a Repr-Digest (RFC 9530).
func checkDigest(header string, content []byte) error {
	sum := sha256.Sum256(content)
	for _, item := range strings.Split(header, ",") {
		if value, found := strings.CutPrefix(strings.TrimSpace(item), "sha-256="); found {
			if value == ":"+base64.StdEncoding.EncodeToString(sum[:])+":" {
				return nil
			}
			return errors.New("the bytes are not those whose digest the register tells: they were changed on the way")
		}
	}
	return errors.New("the answer has no SHA-256 in Repr-Digest to check it against; is this the address of a Schakel?")
}

// problem is an answer that is not a success (RFC 9457).
type problem struct {
	Title  string         `json:"title"`
	Detail string         `json:"detail"`
	Code   string         `json:"code"`
	Errors []problemError `json:"errors"`
}

type problemError struct {
	Pointer  string `json:"pointer,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity,omitempty"`
	Code     string `json:"code"`
	Detail   string `json:"detail"`
}

// problem reads what an answer complains of; what is no problem+json gives an empty one.
func (a answer) problem() (p problem) {
	if json.Unmarshal(a.body, &p) != nil {
		return problem{}
	}
	return p
}

// refusal is an answer as an error in one line.
func (a answer) refusal() error {
	p := a.problem()
	text := strings.TrimSpace(p.Detail)
	if text == "" {
		return fmt.Errorf("the register answers with status %d", a.status)
	}
	for _, e := range p.Errors {
		text += " " + strings.TrimSpace(strings.TrimPrefix(e.Pointer, "/")+": "+e.Detail)
	}
	return fmt.Errorf("the register answers with status %d: %s", a.status, text)
}
