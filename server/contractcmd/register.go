package contractcmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"schakel/server/cli"
)

// RegisterFlags say which register to call, and as whom.
type RegisterFlags struct {
	cli.ClientCredentials
	URL       string        `name:"url" placeholder:"URL" help:"Base address of the Schakel with the register, as https://events.example.nl."`
	Token     string        `placeholder:"TOKEN" help:"Read-only key or access token, in place of --client-id; better in SCHAKEL_TOKEN or --token-file, where other users cannot see it. What is public needs none."`
	TokenFile string        `placeholder:"FILE" help:"File that holds the token. Refused when others can read it: mode 0600."`
	MaxTime   time.Duration `default:"1m" help:"How long to keep trying while the register is busy or unreachable."`
}

// CheckFlags checks what flags cannot say one by one.
func (f *RegisterFlags) CheckFlags() error {
	if f.URL == "" {
		return nil
	}
	if err := cli.CheckURL(f.URL); err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	return nil
}

// register calls the API of a register.
type register struct {
	*cli.Machine
	base    string
	maxTime time.Duration
}

// open makes what calls the register with a scope.
func (f *RegisterFlags) open(scope string) (*register, error) {
	if f.URL == "" {
		return nil, errors.New("say where the register is: --url or SCHAKEL_URL")
	}
	base := strings.TrimRight(f.URL, "/")
	m, err := f.Machine("contract", base, scope)
	if err != nil {
		return nil, err
	}
	r := &register{Machine: m, base: base, maxTime: f.MaxTime}
	r.Client.Timeout = 2 * time.Minute // a large document takes its time
	r.Token = f.Token
	if f.TokenFile != "" {
		r.Token, err = cli.ReadSecretFile(f.TokenFile)
	}
	return r, err
}

// call sends one request until it is settled, with the same Idempotency-Key each
// time, so that a try too many changes nothing.
func (r *register) call(ctx context.Context, method, path, contentType string, body []byte) (cli.Answer, error) {
	return r.callIf(ctx, method, path, contentType, body, "")
}

// callIf is call with an If-Match, unless that is empty.
func (r *register) callIf(ctx context.Context, method, path, contentType string, body []byte, match string) (cli.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, r.maxTime)
	defer cancel()
	key := strconv.Quote(uuid.NewString())
	for try := 0; ; try++ {
		a, err := r.try(ctx, method, path, contentType, key, match, body)
		if err == nil && (!cli.Temporary(a.Status) || a.Status == http.StatusConflict) || cli.NoToken(err) {
			return a, err
		}
		if cli.Wait(ctx, max(cli.Backoff(try), a.RetryAfter)) == nil {
			continue
		}
		if err == nil {
			err = fmt.Errorf("the register answers with status %d", a.Status)
		}
		return a, fmt.Errorf("gave up: %w", err)
	}
}

func (r *register) try(ctx context.Context, method, path, contentType, key, match string, body []byte) (cli.Answer, error) {
	if r.Token == "" && r.ID != "" {
		if a, err := r.FetchToken(ctx); err != nil {
			return a, err
		} else if a.Status != http.StatusOK {
			return a, cli.RefusedToken(a)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+"/registry/v1"+path, bytes.NewReader(body))
	if err != nil {
		return cli.Answer{}, fmt.Errorf("make request: %w", err)
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
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
	return r.Do(req)
}

// fetch gets a version of a contract in a form ("original", "content",
// "content.json" or "content.yaml"), and checks it against the digest in the
// answer. The version is the one that "latest" stands for.
func (r *register) fetch(ctx context.Context, id, version, form string) (content []byte, exact string, err error) {
	a, err := r.call(ctx, http.MethodGet, versionPath(id, version)+"/"+form, "", nil)
	if err != nil {
		return nil, "", err
	}
	if a.Status != http.StatusOK {
		return nil, "", fmt.Errorf("fetch %s@%s: %w", id, version, a.Refusal())
	}
	if err := checkDigest(a.Header.Get("Repr-Digest"), a.Body); err != nil {
		return nil, "", fmt.Errorf("fetch %s@%s: %w", id, version, err)
	}
	return a.Body, exactVersion(a.Header.Get("Content-Location"), version), nil
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
