package e2e

import (
	"context"
	"database/sql"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"schakel/registry"
	"schakel/registry/datasets"
	"schakel/registry/identity"
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/registry/profile"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
	"schakel/web/site"
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

// typed answers a command that asks for a secret. It has no terminal of its own, so that curl too reads what stands for the keyboard.
func typed(cmd *exec.Cmd, secret string) {
	cmd.Stdin, cmd.SysProcAttr = strings.NewReader(secret+"\n"), &syscall.SysProcAttr{Setsid: true}
}

// run runs commands one after the other in one shell, and gives what they wrote. When they ask for a secret, it is typed.
func (r *reader) run(t *testing.T, secret string, commands ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", strings.Join(commands, "\n"))
	cmd.Dir, cmd.Env = r.dir, r.env
	typed(cmd, secret)
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
	trial.Must(t, os.WriteFile(filepath.Join(r.dir, keyFileOf(t, made.keyFile, made.keyClient)), []byte(made.keyFile), 0o644)) // #nosec G306 -- as a browser saves it
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
	if len(pull) != 3 {
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
	r.listens(t, pull["listen"], map[string]string{made.basic: made.basicSecret, made.post: made.postSecret}, made.keyClient)
	keys := r.commands(t, "/admin/keys")
	if out := r.run(t, "", "SCHAKEL_KEY="+made.key, keys["key-curl"]); len(keys) != 1 || !strings.Contains(out, "schakel-events") {
		t.Errorf("%q gives %s", keys, out)
	}
}

// listens runs the command that forwards events to a program of the reader, until nothing waits.
func (r *reader) listens(t *testing.T, command string, secrets map[string]string, keyClient string) {
	t.Helper()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer program.Close()
	answer, named := "", strings.Contains(command, keyClient)
	for id, secret := range secrets {
		if strings.Contains(command, id) {
			answer, named = secret, true
		}
	}
	if !named {
		t.Fatalf("the command names no client: %s", command)
	}
	r.run(t, answer, strings.Replace(command, "http://localhost:3000/events", program.URL, 1)+" --once")
}

// The command that a partner's page of a dataset prints makes an exact copy and goes on until it is stopped. Where there are
// several subscriptions each has its own command, and its own copy.
//
// Rules: MUT-01.
func TestFollowCommandsOfPagesWork(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	s := trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t))
	several := trial.Organisation("follower of two", "34567899")
	var w trial.MutationWorld
	var keyClient, keyFile string
	s.SetUp(t, func(c *demo.Chain) {
		w = s.DeliverMutations(t, c, datasets.DatasetInput{
			ID: "dkk", Title: "Parcels", RootPrefix: "p", RootSpace: "urn:parcels", RootLocal: "mutaties",
			ObjectTypes: []string{"perceel"}, CRS: 28992, AreaKind: store.AreaGeometry,
		}, "")
		_, actor, err := c.Approved(t.Context(), several)
		trial.Must(t, err)
		for name, area := range map[string]string{"All": "", "Part": parcels} {
			endpoint, err := c.Endpoints.Create(t.Context(), actor, "", partners.EndpointInput{Name: name, Kind: store.EndpointFiles})
			trial.Must(t, err)
			sub, err := c.Subscriptions.RequestDataset(t.Context(), actor, partners.DatasetRequest{
				Dataset: "dkk", EndpointID: endpoint.ID, Purpose: "Keep an exact copy.", Area: partners.AreaInput{Text: area},
			})
			trial.Must(t, err)
			trial.Must(t, c.Subscriptions.Approve(t.Context(), c.Admin, sub.ID))
		}
		pair, err := token.NewKeyPair()
		trial.Must(t, err)
		client, _, err := c.Clients.Create(t.Context(), actor, "", identity.NewClient{
			Name: "By key", AuthMethod: token.PrivateKeyJWT, JWKS: pair.Public, Scopes: []string{identity.ScopeMutationsRead},
		})
		trial.Must(t, err)
		if client.Waiting() {
			_, err := c.Clients.Decide(t.Context(), c.Admin, client.ID, identity.Decision{Approve: true, Seen: identity.ClientRequestSeen(client)})
			trial.Must(t, err)
		}
		keyClient, keyFile = client.ID, pair.Private
	})
	s.Start(t)
	publishParcels(t, s, w)

	one := newReader(t, p, s, trial.Organisation("follower a", "34567890").Email)
	two := newReader(t, p, s, several.Email)
	trial.Must(t, os.WriteFile(filepath.Join(two.dir, keyFileOf(t, keyFile, keyClient)), []byte(keyFile), 0o644)) // #nosec G306 -- as a browser saves it
	for _, tt := range []struct {
		r      *reader
		secret string
		rows   map[int]int // copies by their number of rows
	}{
		{one, w.Followers[0].Credentials.Secret, map[int]int{90: 1}},
		{two, "", map[int]int{90: 1, 30: 1}},
	} {
		commands := tt.r.commands(t, "/partner/datasets/dkk")
		for id, command := range commands {
			rows := tt.r.follow(t, tt.secret, command)
			if tt.rows[rows]--; tt.rows[rows] < 0 {
				t.Errorf("%s: the copy has %d rows; %s", id, rows, command)
			}
		}
		for rows, missed := range tt.rows {
			if missed > 0 {
				t.Errorf("no copy has %d rows: %q", rows, commands)
			}
		}
	}
}

// follow runs a command that does not end until its first copy is whole, stops it as an operator does, and gives the number of
// rows in the copy that it names.
func (r *reader) follow(t *testing.T, secret, command string) (rows int) {
	t.Helper()
	if !strings.HasSuffix(command, "--every 5m") {
		t.Fatalf("the command does not go on: %s", command)
	}
	var said trial.Log
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command+" <&0 &\ntrap \"kill -TERM $!\" TERM\nwait $!\nwait $!")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, &said, &said
	typed(cmd, secret)
	trial.Must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); <-ended }() // an error means that all have ended
	trial.Eventually(t, "the copy is whole", func() (bool, string) {
		select {
		case <-ended:
			t.Fatalf("%s\nended with %s:\n%s", command, cmd.ProcessState, said.String())
		default:
		}
		return strings.Contains("\n"+said.String(), "\ndkk: "), said.String()
	})
	trial.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-ended:
	case <-time.After(trial.Patience):
		t.Fatalf("SIGTERM did not end it:\n%s", said.String())
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d after SIGTERM:\n%s", code, said.String())
	}
	_, path, _ := strings.Cut(command, "sqlite:")
	path, _, _ = strings.Cut(path, ".db")
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(r.dir, path+".db")+"?mode=ro")
	trial.Must(t, err)
	defer db.Close()
	trial.Must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM dkk").Scan(&rows))
	return rows
}

// keyFileOf names the file of a private key as the portal does.
func keyFileOf(t *testing.T, key, client string) string {
	t.Helper()
	read, err := token.ReadClientKey([]byte(key))
	trial.Must(t, err)
	kid, _, _ := read.Signing()
	return site.KeyName(client, kid) + ".jwk.json"
}
