package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/registry/identity/token"
	"schakel/server/cli"
	"schakel/server/cli/clitest"
	"schakel/server/release"
	"schakel/store"
)

// inDir is the configuration of a Schakel on free ports with its data in dir.
func inDir(dir string) ServeCmd {
	return ServeCmd{
		DatabaseFlags: DatabaseFlags{
			Database:      "sqlite:" + filepath.Join(dir, "schakel.db"),
			SecretKeyFile: filepath.Join(dir, "schakel.key"),
		},
		OrganisationFlags: OrganisationFlags{Organisation: "Test"},
		HTTPFlags:         HTTPFlags{Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestProgram starts the whole program, looks at it from outside, and stops it.
func TestProgram(t *testing.T) {
	t.Parallel()
	p, err := build(t.Context(), inDir(t.TempDir()), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.start(t.Context(), cli.Streams{Out: &out}); err != nil {
		t.Fatal(err)
	}
	_, path, found := strings.Cut(out.String(), "/setup/")
	if !found {
		t.Fatalf("no link for the administrator in %q", out.String())
	}
	token, _, _ := strings.Cut(path, " ")
	for url, want := range map[string]int{
		"http://" + p.admin.Addr() + "/livez":                                                         200,
		"http://" + p.admin.Addr() + "/readyz":                                                        200,
		"http://" + p.admin.Addr() + "/metrics":                                                       200,
		"http://" + p.public.Addr() + "/login":                                                        200,
		"http://" + p.public.Addr() + "/registry/v1/contracts/schakel-events/versions/latest/content": 200,
		"http://" + p.public.Addr() + "/setup/" + token:                                               200,
		"http://" + p.public.Addr() + "/readyz":                                                       404, // admin alone
		"http://" + p.public.Addr() + "/metrics":                                                      404,
	} {
		if status, body := fetch(t, url); status != want {
			t.Errorf("%s: %d, want %d: %s", url, status, want, body)
		}
	}
	if _, body := fetch(t, "http://"+p.admin.Addr()+"/readyz"); !strings.Contains(body, "store ok\n") || !strings.Contains(body, "http ok\n") || !strings.Contains(body, "contracts ok\n") {
		t.Errorf("readyz: %s", body)
	}
	if _, body := fetch(t, "http://"+p.admin.Addr()+"/metrics"); !strings.Contains(body, `version="`+release.Current().Version+`"} 1`) {
		t.Error("/metrics has no schakel_build_info")
	}
	if _, body := fetch(t, "http://"+p.public.Addr()+"/login"); !strings.Contains(body, release.Current().String()) {
		t.Error("the footer does not show the build")
	}
	if err := p.stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := http.Get("http://" + p.public.Addr() + "/login"); err == nil {
		t.Error("still answers after it was stopped")
	}
}

// A signing key that starts in the future is reported by /readyz, and the program serves all the same.
func TestReadyTellsThatTheClockWasAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := build(t.Context(), inDir(dir), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.start(t.Context(), cli.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	ready := func(want string) {
		t.Helper()
		if status, body := fetch(t, "http://"+p.admin.Addr()+"/readyz"); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("readyz: %d %s, want %q", status, body, want)
		}
	}
	ready("tokens ok\n") // which makes the first key
	file, err := sql.Open("sqlite3", filepath.Join(dir, "schakel.db"))
	if err != nil {
		t.Fatal(err)
	}
	const month = 30 * 24 * time.Hour
	if _, err := file.ExecContext(t.Context(), `UPDATE signing_key SET created_at = created_at + ?`, month.Microseconds()); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	ready("tokens warning: a signing key starts in the future")
	if err := p.stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// signalWriter signals when the program has printed that it is up.
type signalWriter struct{ up chan struct{} }

// Write implements io.Writer.
func (w signalWriter) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("Schakel is at")) {
		close(w.up)
	}
	return len(b), nil
}

func TestRunEndsWell(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	up := make(chan struct{})
	ended := make(chan int, 1)
	dir := t.TempDir()
	go func() {
		ended <- execute(ctx, []string{
			"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
			"--database", "sqlite:" + filepath.Join(dir, "s.db"), "--secret-key-file", filepath.Join(dir, "s.key"),
		},
			cli.Streams{Out: signalWriter{up}, Err: io.Discard})
	}()
	select {
	case <-up:
	case code := <-ended:
		t.Fatalf("ended with %d before it was up", code)
	}
	cancel() // what SIGTERM does to the context of main
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestRunToldToStopWhileStarting checks that this is an end like any other.
func TestRunToldToStopWhileStarting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := build(ctx, inDir(t.TempDir()), quiet(), cancel)
	if err != nil {
		t.Fatal(err)
	}
	p.group.Add(funcService{name: "last", start: func(ctx context.Context) error {
		cancel(context.Canceled)
		return ctx.Err()
	}})
	if err := p.runUntilDone(ctx, cli.Streams{Out: io.Discard}, quiet()); err != nil {
		t.Errorf("got %v, want a clean end", err)
	}
}

func TestRunFailsWhenAddressIsTaken(t *testing.T) {
	t.Parallel()
	first, err := build(t.Context(), inDir(t.TempDir()), quiet(), func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.start(t.Context(), cli.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.stop(context.Background()) })
	cfg := inDir(t.TempDir())
	cfg.Addr = first.public.Addr()
	err = run(t.Context(), cfg, cli.Streams{Out: io.Discard}, quiet())
	if err == nil || !strings.Contains(err.Error(), "start http") {
		t.Errorf("got %v, want that http does not start", err)
	}
}

// TestRequestFinishesBeforeStop checks that a request in flight gets its answer.
func TestRequestFinishesBeforeStop(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := newHTTPService("http", "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = io.WriteString(w, "done")
	}), nil, quiet(), func(err error) { t.Error(err) })
	stopping := make(chan struct{})
	s.server.RegisterOnShutdown(func() { close(stopping) })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		_, body := fetch(t, "http://"+s.Addr())
		got <- body
	}()
	<-arrived
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		stopped <- s.Stop(ctx)
	}()
	<-stopping
	close(release)
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	if body := <-got; body != "done" {
		t.Errorf("answer %q", body)
	}
}

func TestReadyAnswer(t *testing.T) {
	t.Parallel()
	status, body := readyAnswer([]Readiness{{"store", nil}, {"dispatcher", errors.New("down\nsince noon")}})
	if status != 503 || body != "store ok\ndispatcher failed: down since noon\n" {
		t.Errorf("got %d %q", status, body)
	}
	status, body = readyAnswer([]Readiness{{"store", nil}, {"contracts", fmt.Errorf("look: %w", warning("other bytes"))}})
	if status != 200 || body != "store ok\ncontracts warning: other bytes\n" {
		t.Errorf("a warning is answered with %d %q", status, body)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, cli.ExitOK, "publish"},
		{[]string{"serve", "--help"}, cli.ExitOK, "SCHAKEL_BASE_URL"},
		{[]string{"demo", "--help"}, cli.ExitOK, "scratch"},
		{[]string{"--version"}, cli.ExitOK, release.Current().String() + "\n"},
		{[]string{"changelog"}, cli.ExitOK, "## [Unreleased]"},
		{[]string{"nonsense"}, cli.ExitUsage, "nonsense"},
		{[]string{"serve", "--base-url", "events.example.nl"}, cli.ExitUsage, "--base-url"},
		{[]string{"serve", "--tls-cert", "x"}, cli.ExitUsage, "--tls-key"},
		{[]string{"serve", "--smtp-host", "x"}, cli.ExitUsage, "--smtp-from"},
		{[]string{"serve", "--oidc-issuer", "https://x"}, cli.ExitUsage, "--oidc-client-id"},
		{[]string{"serve", "--max-event-bytes", "1000"}, cli.ExitUsage, "65536"},
		{[]string{"publish", "--url", "http://events.example.nl", "--client-id", "x"}, cli.ExitUsage, "https"},
		{[]string{"migrate", "--database", "mysql://x"}, cli.ExitFailed, "sqlite:PATH"},
		{[]string{"migrate", "--database", db}, cli.ExitOK, "database at version"},
		{[]string{"user", "add", "--database", db, "--name", "Ada", "not an address"}, cli.ExitFailed, "email:"},
		{[]string{"user", "add", "--database", db, "--name", "Ada", "ada@example.nl"}, cli.ExitOK, "/account/invitation/"},
		{[]string{"user", "add", "--database", db, "--name", "Ada", "ada@example.nl"}, cli.ExitFailed, "email:"},
		{[]string{"user", "add", "--database", db, "--name", "P", "--role", "partner", "--partner", "ptn_x", "p@example.nl"}, cli.ExitFailed, "ptn_x"},
		{[]string{"user", "reset", "--database", db, "--base-url", "https://e.nl/", "Ada@example.nl"}, cli.ExitOK, "https://e.nl/account/invitation/"},
		{[]string{"user", "reset", "--database", db, "nobody@example.nl"}, cli.ExitFailed, "not found"},
		{[]string{"user", "reset-factors", "--database", db, "nobody@example.nl"}, cli.ExitFailed, "not found"},
		{[]string{"user", "reset-factors", "--database", db, "Ada@example.nl"}, cli.ExitFailed, "no second factor"},
		{[]string{"user", "list", "--database", db}, cli.ExitOK, "ada@example.nl"},
	}
	for _, tt := range tests { // one after the other: they share the database
		var out bytes.Buffer
		code := execute(t.Context(), tt.args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: code %d, want %d with %q:\n%s", tt.args, code, tt.code, tt.want, out.String())
		}
	}
}

func TestEnvironment(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("SCHAKEL_ADDR", "127.0.0.1:1234")
	t.Setenv("SCHAKEL_ALLOW_OUTBOUND", "10.0.0.0/8,192.168.0.0/16")
	t.Setenv("SCHAKEL_VERSION", "1")
	var all CLI
	parser, err := cli.NewParser(&all, cli.Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cli.Parse(parser, []string{"serve"}); err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/16")}
	if got := all.Serve; got.Addr != "127.0.0.1:1234" || fmt.Sprint(got.AllowOutbound) != fmt.Sprint(want) {
		t.Errorf("got %+v", got)
	}
}

// TestClientCommands makes a client on the database of a Schakel, lists it and
// ends it. The secret is printed once.
func TestClientCommands(t *testing.T) {
	t.Parallel()
	cfg := inDir(t.TempDir())
	at := []string{"--database", cfg.Database, "--secret-key-file", cfg.SecretKeyFile}
	command := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		args = append(append([]string{"client"}, args...), at...)
		if code := execute(t.Context(), args, cli.Streams{Out: &out, Err: &out}); code != want {
			t.Fatalf("%s: code %d, want %d: %s", args, code, want, out.String())
		}
		return out.String()
	}
	if text := command(cli.ExitFailed, "list"); !strings.Contains(text, "start schakel serve once") {
		t.Errorf("before the first start: %s", text)
	}
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.db.Close() })
	command(cli.ExitFailed, "add", "x", "--scope", "everything")
	made := command(cli.ExitOK, "add", "Student records", "--publish-type", "nl.example.*", "--publish-source", "urn:example:*")
	_, rest, _ := strings.Cut(made, "client id: ")
	id, rest, _ := strings.Cut(rest, "\n")
	_, key, found := strings.Cut(strings.TrimSpace(rest), "private key, shown this once:")
	if _, err := token.ReadClientKey([]byte(key)); !found || err != nil {
		t.Fatalf("no private key in %q: %v", made, err)
	}
	list := command(cli.ExitOK, "list")
	if !strings.Contains(list, id) || !strings.Contains(list, "Student records") {
		t.Errorf("list: %s", list)
	}
	if text := command(cli.ExitFailed, "add", "Old system", "--scope", "registry.read", "--auth-method", "client_secret_basic"); !strings.Contains(text, "authMethod") {
		t.Errorf("a strict Schakel allows a secret: %s", text)
	}
	for _, name := range []string{"key.json", "key.pem"} {
		keyFile := filepath.Join(t.TempDir(), name)
		command(cli.ExitFailed, "add", "x", "--scope", "everything", "--key-file", keyFile)
		command(cli.ExitOK, "add", "Pipeline "+name, "--scope", "registry.read", "--key-file", keyFile)
		if info, err := os.Stat(keyFile); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key file: %v, %v", info, err)
		}
		if _, err := cli.ReadClientKey(keyFile); err != nil {
			t.Errorf("the key file cannot be read: %v", err)
		}
		if text := command(cli.ExitFailed, "add", "Again", "--scope", "registry.read", "--key-file", keyFile); !strings.Contains(text, "exists") {
			t.Errorf("a second client over the key of the first: %s", text)
		}
	}
	command(cli.ExitOK, "revoke", id)
	if list := command(cli.ExitOK, "list"); !strings.Contains(list, store.ClientRevoked) {
		t.Errorf("list after the end: %s", list)
	}
	command(cli.ExitFailed, "revoke", id)
	before, err := p.db.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	command(cli.ExitOK, "new-key")
	after, err := p.db.SigningKeys(t.Context())
	if err != nil || len(after) != len(before)+1 || !after[0].RetiredAt.IsZero() {
		t.Errorf("keys after the new one: %+v, %v", after, err)
	}
	for _, key := range after[1:] {
		if key.RetiredAt.IsZero() {
			t.Errorf("key %s still signs beside the new one", key.ID)
		}
	}
}

// commandWith runs a command with standard input.
func commandWith(t *testing.T, input string, args ...string) (code int, out, problems string) {
	t.Helper()
	return clitest.Program(execute).Run(t, input, args...)
}

func command(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	return commandWith(t, "", args...)
}

// says runs a command, and expects this exit code and these words from it.
func says(t *testing.T, want int, words string, args ...string) {
	t.Helper()
	clitest.Program(execute).Says(t, want, words, args...)
}
