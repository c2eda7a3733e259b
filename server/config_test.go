package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"schakel/server/cli"
)

// parseServe reads the arguments of schakel serve.
func parseServe(t *testing.T, args ...string) (*CLI, *kong.Kong, error) {
	t.Helper()
	all := &CLI{}
	parser, err := cli.NewParser(all, cli.Streams{Out: io.Discard, Err: io.Discard})
	must(t, err)
	_, err = cli.Parse(parser, append([]string{"serve"}, args...))
	return all, parser, err
}

// inFile writes a file of settings that nobody else can read.
func inFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "schakel.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestConfigFile holds what a file of settings sets, and that flags and environment win.
func TestConfigFile(t *testing.T) {
	t.Setenv("SCHAKEL_ORGANISATION", "of the environment")
	path := inFile(t, `
base-url: https://events.example.nl
organisation: of the file
log-format: json
smtp-port: 2525
language: nb
trusted-proxy: [127.0.0.1/32, 10.0.0.0/8]
retry-waits: [1s, 2m]
oidc-scope: openid,email
plain-http-loopback: true
keep-events: 800h
`)
	got, _, err := parseServe(t, "--config", path, "--language", "nl")
	must(t, err)
	if s := got.Serve; s.BaseURL != "https://events.example.nl" || s.Organisation != "of the environment" || s.Language != "nl" || s.SMTPPort != 2525 || got.LogFormat != "json" ||
		len(s.TrustedProxy) != 2 || !reflect.DeepEqual(s.RetryWaits, []time.Duration{time.Second, 2 * time.Minute}) || len(s.OIDCScopes) != 2 || !s.PlainHTTP ||
		s.KeepEvents != 800*time.Hour || s.RetryAttempts != 50 {
		t.Errorf("%+v", s)
	}
	t.Setenv("SCHAKEL_CONFIG", path)
	if got, _, err = parseServe(t); err != nil || got.Serve.SMTPPort != 2525 {
		t.Errorf("by the environment: %+v, %v", got.Serve.MailFlags, err)
	}
}

// TestConfigFileErrors holds that what is wrong is named with its line and a remedy.
func TestConfigFileErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"base-uri: x":                 `schakel.yaml:1: there is no setting "base-uri", did you mean base-url?; schakel config lists all`,
		"\nsmtp_host: x":              `:2: there is no setting "smtp_host", did you mean smtp-host?`,
		"zzzzzzzzzz: 1":               `there is no setting "zzzzzzzzzz"; schakel config lists all`,
		"json: true":                  "there is no setting", // a flag of doctor, not of serve
		"config: x":                   "there is no setting",
		"oin: '1'\noin: '2'":          ":2: oin is on line 1 already",
		"smtp-port: many":             ":1: smtp-port: expected",
		"smtp-tls: maybe":             `:1: --smtp-tls must be one of`,
		"base-url:":                   "base-url has no value",
		"base-url: [a, b]":            "base-url takes a single value",
		"base-url: {a: b}":            "base-url takes a single value",
		"oidc-scope: {a: b}":          "oidc-scope takes a value or a list",
		"oidc-scope: [{a: b}]":        "an item of the list",
		"- a":                         "settings are lines of the form",
		"a: [":                        "is not YAML",
		"smtp-host: mail.example.nl":  "--smtp-from is required with --smtp-host (with the settings of",
		"retry-waits: [1s, tomorrow]": ":1: retry-waits",
	} {
		if _, _, err := parseServe(t, "--config", inFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := parseServe(t, "--config", "/nowhere.yaml"); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("no file: %v", err)
	}
	open := inFile(t, "database: postgres://schakel:secret@db.example.nl/schakel")
	if _, _, err := parseServe(t, "--config", open); err != nil {
		t.Errorf("a password that only the owner reads: %v", err)
	}
	must(t, os.Chmod(open, 0o644))
	if _, _, err := parseServe(t, "--config", open); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a password for all to read: %v", err)
	}
}

// TestConfigExample holds that the example has every flag of serve and of the program, that it sets nothing as it is, and that it can be
// read, line by line, with what it shows as defaults.
func TestConfigExample(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"config"}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
		t.Fatal(code, errs.String())
	}
	defaults, parser, err := parseServe(t)
	must(t, err)
	asIs, _, err := parseServe(t, "--config", inFile(t, out.String()))
	must(t, err)
	asIs.Serve.Config = ""
	if !reflect.DeepEqual(defaults, asIs) {
		t.Error("the example sets something as it is")
	}
	flags := 0
	for _, node := range append([]*kong.Node{parser.Model.Node}, parser.Model.Children...) {
		if node != parser.Model.Node && node.Name != "serve" {
			continue
		}
		for _, flag := range node.Flags {
			if flag.Name == "help" || flag.Name == "version" || flag.Name == "config" {
				continue
			}
			flags++
			if !strings.Contains(out.String(), "\n#"+flag.Name+": ") {
				t.Errorf("--%s is missing in the example", flag.Name)
			}
		}
	}
	if flags < 50 {
		t.Errorf("only %d flags", flags)
	}
	var set strings.Builder // every default that the example shows, set
	for line := range strings.Lines(out.String()) {
		name, _, is := strings.Cut(strings.TrimPrefix(line, "#"), ":")
		for _, flag := range cli.Settings(parser) {
			if is && flag.Name == name && (flag.HasDefault || flag.IsBool()) {
				set.WriteString(strings.TrimPrefix(line, "#"))
			}
		}
	}
	all, _, err := parseServe(t, "--config", inFile(t, set.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, set.String())
	}
	all.Serve.Config = ""
	if !reflect.DeepEqual(defaults.Serve, all.Serve) {
		t.Errorf("the defaults of the example are others:\n%+v\n%+v", defaults.Serve, all.Serve)
	}
}

// TestConfigCheck holds that a file can be checked without starting anything, and that other commands take what is theirs.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (int, string) {
		var out strings.Builder
		code := execute(t.Context(), args, cli.Streams{Out: &out, Err: &out})
		return code, out.String()
	}
	path := inFile(t, "database: sqlite:"+filepath.Join(t.TempDir(), "x.db")+"\nlease: 1m\n")
	if code, text := run("config", "--check", path); code != 0 || !strings.Contains(text, "is right") {
		t.Error(code, text)
	}
	if code, text := run("config", "--check", inFile(t, "leese: 1m")); code == 0 || !strings.Contains(text, "did you mean lease?") {
		t.Error(code, text)
	}
	if code, text := run("migrate", "--config", path); code != 0 || !strings.Contains(text, "database at version") {
		t.Error(code, text)
	}
	if code, text := run("user", "list", "--config", path); code != 0 {
		t.Error(code, text)
	}
}
