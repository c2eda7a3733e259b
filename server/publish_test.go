package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// TestPublishRetries checks what settles a request, how long it waits in between,
// and that every try carries the same key.
func TestPublishRetries(t *testing.T) {
	t.Parallel()
	after := func(s string) http.Header { return http.Header{"Retry-After": {s}} }
	tests := []struct {
		name    string
		answers []*http.Response // the last one is repeated
		code    int
		tries   int
		took    time.Duration
	}{
		{"taken", []*http.Response{clitest.AnswerWith(202, nil, "{}")}, 0, 1, 0},
		{"refused", []*http.Response{clitest.AnswerWith(400, nil, "{}")}, cli.ExitRefused, 1, 0},
		{"key used for another event", []*http.Response{clitest.AnswerWith(422, nil, "{}")}, cli.ExitRefused, 1, 0},
		{"redirect", []*http.Response{clitest.AnswerWith(307, http.Header{"Location": {"https://evil.example"}}, "")}, cli.ExitRefused, 1, 0},
		{"busy twice", []*http.Response{clitest.AnswerWith(503, nil, ""), clitest.AnswerWith(409, nil, ""), clitest.AnswerWith(202, nil, "")}, 0, 3, 1500 * time.Millisecond},
		{"told to wait", []*http.Response{clitest.AnswerWith(429, after("7"), ""), clitest.AnswerWith(202, nil, "")}, 0, 2, 7 * time.Second},
		{"told nonsense", []*http.Response{clitest.AnswerWith(429, after("-7"), ""), clitest.AnswerWith(202, nil, "")}, 0, 2, 500 * time.Millisecond},
		{"told to wait too long", []*http.Response{clitest.AnswerWith(429, after("3600"), "")}, cli.ExitGaveUp, 1, 0},
		{"token died", []*http.Response{clitest.AnswerWith(401, nil, ""), clitest.AnswerWith(202, nil, "")}, 0, 2, 0},
		{"token refused", []*http.Response{clitest.AnswerWith(401, nil, "")}, cli.ExitRefused, 2, 0},
		{"never well", []*http.Response{clitest.AnswerWith(500, nil, "")}, cli.ExitGaveUp, 8, 45*time.Second + 500*time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys := map[string]int{}
				p, err := newPublisher(&PublishCmd{URL: "https://schakel.example.nl/", ClientCredentials: cli.ClientCredentials{ClientID: "c", ClientSecret: "s"}}, "key-1")
				if err != nil {
					t.Fatal(err)
				}
				p.Client.Transport = clitest.RoundTripper(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/oauth/token" {
						return clitest.AnswerWith(200, nil, `{"access_token":"t"}`), nil
					}
					n := keys[r.Header.Get("Idempotency-Key")]
					keys[r.Header.Get("Idempotency-Key")]++
					a := *tt.answers[min(n, len(tt.answers)-1)]
					a.Body = io.NopCloser(strings.NewReader("{}"))
					return &a, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err = p.send(ctx, http.Header{}, []byte("{}"))
				if code := cli.ExitCode(err, cli.Streams{Err: io.Discard}); code != tt.code {
					t.Errorf("exit code %d, want %d: %v", code, tt.code, err)
				}
				if len(keys) != 1 || keys[`"key-1"`] != tt.tries {
					t.Errorf("tries by key %v, want %d", keys, tt.tries)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// TestPublishCommand runs the command as a user does, against a server that looks
// at what arrives.
func TestPublishCommand(t *testing.T) {
	t.Parallel()
	event := `{"specversion":"1.0","id":"1","source":"/s","type":"nl.x"}`
	tests := []struct {
		name, input string
		args        []string
		header      map[string]string
	}{
		{"structured", event, nil, map[string]string{"Content-Type": "application/cloudevents+json"}},
		{"batch", " [" + event + "]", nil, map[string]string{"Content-Type": "application/cloudevents-batch+json"}},
		{"data", `{"a":1}`, []string{"--type", "nl.x", "--source", "/s", "--id", "1", "--subject", "é%"}, map[string]string{
			"Content-Type": "application/json", "Ce-Specversion": "1.0", "Ce-Type": "nl.x", "Ce-Source": "/s", "Ce-Id": "1", "Ce-Subject": "%C3%A9%25",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
				if id, secret, _ := r.BasicAuth(); id != "cli" || secret != "s3cret" || r.FormValue("grant_type") != "client_credentials" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				_, _ = io.WriteString(w, `{"access_token":"t"}`)
			})
			mux.HandleFunc("POST /events/v1/events", func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != tt.input || r.Header.Get("Authorization") != "Bearer t" {
					t.Errorf("body %s, authorization %s", body, r.Header.Get("Authorization"))
				}
				for name, want := range tt.header {
					if got := r.Header.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				w.WriteHeader(http.StatusAccepted)
				_, _ = io.WriteString(w, `{"accepted":1}`)
			})
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			secret := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			args := append([]string{"publish", "--url", server.URL, "--client-id", "cli", "--client-secret-file", secret}, tt.args...)
			code := execute(t.Context(), args, cli.Streams{In: strings.NewReader(tt.input), Out: &out, Err: &errs})
			if code != cli.ExitOK || out.String() != "{\"accepted\":1}\n" {
				t.Errorf("code %d, out %q, err %q", code, out.String(), errs.String())
			}
		})
	}
}

func TestPublishURL(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		"https://events.example.nl": true, "http://localhost:8080": true, "http://127.0.0.1": true, "http://[::1]:1": true,
		"http://events.example.nl": false, "http://localhost.evil.example": false, "ftp://x": false, "https://u:p@x": false, "x": false, "": false,
	} {
		if err := cli.CheckURL(raw); (err == nil) != ok {
			t.Errorf("%q: %v, want ok=%v", raw, err, ok)
		}
	}
}

// keyClient adds a client of the own organisation that authenticates with private_key_jwt, and writes its key to a file.
func keyClient(t *testing.T, p *program, scopes ...string) (id, keyFile string) {
	t.Helper()
	pair, err := token.NewKeyPair()
	must(t, err)
	client, _, err := p.registry.Clients.Create(t.Context(), registry.SystemActor(), "", identity.NewClient{
		Name: "Pipeline", AuthMethod: token.PrivateKeyJWT, JWKS: pair.Public, Scopes: scopes,
	})
	must(t, err)
	keyFile = filepath.Join(t.TempDir(), "client.jwk.json")
	must(t, cli.WriteKeyFile(keyFile, pair.Private))
	return client.ID, keyFile
}

// TestTokenCommand gets a token with a key of each form, and uses it.
//
// Rules: SEC-02.
func TestTokenCommand(t *testing.T) {
	t.Parallel()
	p := built(t)
	must(t, p.start(t.Context(), cli.Streams{Out: &strings.Builder{}}))
	t.Cleanup(func() { must(t, p.stop(t.Context())) })
	base := "http://" + p.public.Addr()
	ask := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		if code := execute(t.Context(), append([]string{"token", "--url", base, "--token-audience", p.base + "/oauth/token"}, args...), cli.Streams{Out: &out, Err: &out}); code != want {
			t.Fatalf("%v: exit %d, want %d: %s", args, code, want, out.String())
		}
		return strings.TrimSpace(out.String())
	}
	id, jwk := keyClient(t, p, identity.ScopeRegistryRead)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/registry/v1/contracts", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+ask(cli.ExitOK, "--client-id", id, "--client-key-file", jwk))
	answer, err := http.DefaultClient.Do(req)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the token is answered with %d", answer.StatusCode)
	}
	ask(cli.ExitOK, "--client-id", id, "--client-key-file", jwk, "--scope", "registry.read")
	if text := ask(cli.ExitFailed, "--client-id", id, "--client-key-file", jwk, "--token-audience", "https://other.example"); !strings.Contains(text, "aud must be") {
		t.Errorf("another audience: %s", text)
	}
	if text := ask(cli.ExitFailed, "--client-id", id, "--client-key-file", jwk, "--scope", "registry.write"); !strings.Contains(text, "scope") {
		t.Errorf("a scope that the client has not: %s", text)
	}
	_, other := keyClient(t, p, identity.ScopeRegistryRead)
	ask(cli.ExitFailed, "--client-id", id, "--client-key-file", other)
	public := filepath.Join(t.TempDir(), "public.json")
	pair, err := token.NewKeyPair()
	must(t, err)
	must(t, os.WriteFile(public, []byte(pair.Public), 0o600))
	if text := ask(cli.ExitFailed, "--client-id", id, "--client-key-file", public); !strings.Contains(text, "only public keys") {
		t.Errorf("a public key: %s", text)
	}
	ask(cli.ExitUsage, "--client-key-file", jwk)
	ask(cli.ExitUsage, "--client-id", id, "--client-key-file", jwk, "--client-secret", "x")
}
