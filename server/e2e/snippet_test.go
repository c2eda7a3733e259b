package e2e

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"schakel/registry"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// reader is somebody in a browser who copies commands from pages into a shell.
type reader struct {
	*trial.Program
	browser *http.Client
	dir     string
	env     []string
}

func newReader(t *testing.T, p *trial.PKI, s *trial.Program, email string) *reader {
	t.Helper()
	jar, err := cookiejar.New(nil)
	trial.Must(t, err)
	r := &reader{Program: s, dir: t.TempDir(), browser: &http.Client{Jar: jar, Transport: p.Client.Transport}}
	bin := t.TempDir()
	trial.Must(t, os.Symlink(trial.Path(t), filepath.Join(bin, "schakel")))
	r.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CURL_CA_BUNDLE="+p.CAFile, "SSL_CERT_FILE="+p.CAFile)
	r.page(t, http.MethodPost, "/login", url.Values{"email": {email}, "password": {trial.Password}})
	return r
}

func (r *reader) page(t *testing.T, method, path string, form url.Values) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.Base+path, strings.NewReader(form.Encode()))
	trial.Must(t, err)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := r.browser.Do(request)
	trial.Must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	trial.Must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d: %s", path, answer.StatusCode, body)
	}
	return string(body)
}

var codes = regexp.MustCompile(`<code class="utrecht-code-block__content" id="([^"]+)">([^<]*)</code>`)

// commands gives the commands of a page by their ids.
func (r *reader) commands(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range codes.FindAllStringSubmatch(r.page(t, http.MethodGet, path, nil), -1) {
		if text := html.UnescapeString(m[2]); strings.Contains(text, "curl ") || strings.Contains(text, "schakel ") {
			found[m[1]] = text
		}
	}
	return found
}

// run runs commands one after the other in one shell, and gives what they wrote.
func (r *reader) run(t *testing.T, secret string, commands ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.Join(commands, "\n"))
	cmd.Dir, cmd.Env = r.dir, append(r.env, "SECRET="+secret, "SCHAKEL_KEY="+secret)
	out, err := cmd.Output()
	if err != nil {
		failure := ""
		if exit, ok := err.(*exec.ExitError); ok {
			failure = string(exit.Stderr)
		}
		t.Fatalf("%v: %s\n%s\n%s", err, strings.Join(commands, "\n"), out, failure)
	}
	return string(out)
}

// Each command that a page prints works as it is printed, with what the page says that it needs in a variable or a file. The
// publish command carries the example of the contract, which is accepted.
//
// Rules: EDU-15, EDU-N04.
func TestCommandsOfPagesWork(t *testing.T) {
	t.Parallel()
	needs.Program(t, "curl")
	p := trial.NewPKI(t)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	s.Checked = true
	var made struct{ keyClient, keyFile, basic, basicSecret, post, postSecret, endpoint, key string }
	s.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		trial.Must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
		trial.Must(t, c.ChangeSettings(ctx, map[string]string{"tokens.client_auth": profile.AuthSecretPost}))
		own, err := c.Partners.Own(ctx)
		trial.Must(t, err)
		client := func(method, jwks string) (string, string) {
			row, secret, err := c.Clients.Create(ctx, c.Admin, own.ID, identity.NewClient{
				Name: "By " + method, AuthMethod: method, JWKS: jwks, Scopes: []string{identity.ScopeEventsPublish, identity.ScopeEventsConsume},
				PublishTypes: []string{"nl.voorbeeld.*"}, PublishSources: []string{"urn:nld:oin:" + s.Own.OIN() + ":*"},
			})
			trial.Must(t, err)
			return row.ID, secret
		}
		pair, err := token.NewKeyPair()
		trial.Must(t, err)
		made.keyClient, _ = client(token.PrivateKeyJWT, pair.Public)
		made.keyFile = pair.Private
		made.basic, made.basicSecret = client(token.ClientSecretBasic, "")
		made.post, made.postSecret = client(token.ClientSecretPost, "")
		endpoint, err := c.Endpoints.Create(ctx, c.Admin, own.ID, partners.EndpointInput{Name: "Pull", Kind: store.EndpointPull})
		trial.Must(t, err)
		made.endpoint = endpoint.ID
		sub, err := c.Request(ctx, registry.Actor{Kind: registry.ActorAccount, PartnerID: own.ID, Administrator: true, Name: "A"}, endpoint.ID, demo.EventTypes()...)
		trial.Must(t, err)
		trial.Must(t, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
		_, made.key, err = c.ReadKeys.Create(ctx, c.Admin, own.ID, identity.NewReadKey{Name: "Renovate"})
		trial.Must(t, err)
	})
	s.Start(t)
	r := newReader(t, p, s, s.Own.Email)
	trial.Must(t, os.WriteFile(filepath.Join(r.dir, made.keyClient+".jwk.json"), []byte(made.keyFile), 0o644)) // #nosec G306 -- as a browser saves it
	tokens := map[string]string{}
	for id, secret := range map[string]string{made.keyClient: "", made.basic: made.basicSecret, made.post: made.postSecret} {
		commands := r.commands(t, "/admin/own/clients/"+id)
		if len(commands) != 2 {
			t.Fatalf("commands of the client: %q", commands)
		}
		if strings.Contains(commands["curl-publish"], `"data":{}`) {
			t.Errorf("the command has no example of the contract: %s", commands["curl-publish"])
		}
		out := r.run(t, secret, commands["curl-token"], `printf '%s\n' "$TOKEN"`, commands["curl-publish"])
		var events string
		tokens[id], events, _ = strings.Cut(out, "\n")
		if !strings.Contains(events, `"eventId":"evt_`) {
			t.Errorf("published with %q: %s", commands["curl-publish"], events)
		}
	}
	pull := r.commands(t, "/admin/own/endpoints/"+made.endpoint)
	if len(pull) != 2 {
		t.Fatalf("commands of the endpoint: %q", pull)
	}
	out := r.run(t, "", "TOKEN="+tokens[made.basic], pull["receive"], "cat received.json", "echo", "echo ======", pull["acknowledge"])
	received, acknowledged, _ := strings.Cut(out, "======")
	if strings.Count(received, `"lockToken"`) != 3 || strings.Contains(acknowledged, `"status":4`) {
		t.Errorf("received %s\nacknowledged %s", received, acknowledged)
	}
	s.Open(t, func(db *store.DB) {
		n, err := db.CountDeliveries(context.Background(), store.DeliveryFilter{Statuses: []string{store.DeliveryDelivered}})
		if err != nil || n != 3 {
			t.Errorf("%d of 3 deliveries are acknowledged: %v; %s", n, err, acknowledged)
		}
	})
	keys := r.commands(t, "/admin/keys")
	if out := r.run(t, made.key, keys["key-curl"]); len(keys) != 1 || !strings.Contains(out, "schakel-events") {
		t.Errorf("%q gives %s", keys, out)
	}
}
