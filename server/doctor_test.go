package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/server/cli"
)

// doctor runs schakel doctor and returns the state of each check and the codes of what it found.
func doctor(t *testing.T, args ...string) (code int, states map[string]string, codes string) {
	t.Helper()
	code, out, problems := command(t, append([]string{"doctor", "--json", "--offline"}, args...)...)
	var report struct {
		Errors int
		Checks []struct {
			Check, State string
			Findings     []struct{ Code, Severity, Text, Remedy string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("exit code %d, %s%s: %v", code, out, problems, err)
	}
	states = map[string]string{}
	for _, c := range report.Checks {
		states[c.Check] = c.State
		for _, f := range c.Findings {
			codes += f.Code + " "
		}
	}
	if (report.Errors > 0) != (code == cli.ExitFailed) {
		t.Errorf("%d errors and exit code %d", report.Errors, code)
	}
	return code, states, codes
}

// A stopped installation is checked by its files; it changes nothing, makes no key and no database.
func TestDoctorOnAStoppedInstallation(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	flags := []string{"--database", database, "--secret-key-file", key, "--admin-addr", "127.0.0.1:1"}
	_, states, codes := doctor(t, flags...)
	for _, want := range []string{"running-no", "backup-never", "key-no-backup", "address-local", "mail-none", "administrator-none"} {
		if !strings.Contains(codes, want+" ") {
			t.Errorf("%s is not found in %s", want, codes)
		}
	}
	if states["database"] != "ok" {
		t.Errorf("database is %s", states["database"])
	}

	says(t, cli.ExitOK, "backup written", "backup", "--database", database, "--to", filepath.Join(t.TempDir(), "b.zip"))
	if _, _, codes := doctor(t, flags...); strings.Contains(codes, "backup-") {
		t.Errorf("the backup is not known: %s", codes)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, codes := doctor(t, flags...); code != cli.ExitFailed || !strings.Contains(codes, "key-unusable ") {
		t.Errorf("a key that others can read: exit code %d, %s", code, codes)
	}

	nowhere := filepath.Join(t.TempDir(), "x")
	code, _, codes := doctor(t, "--database", "sqlite:"+nowhere+"/s.db", "--secret-key-file", nowhere+"/k", "--admin-addr", "127.0.0.1:1")
	if code != cli.ExitFailed || !strings.Contains(codes, "database-unavailable ") || !strings.Contains(codes, "key-unusable ") {
		t.Errorf("nothing there: exit code %d, %s", code, codes)
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("doctor made files")
	}
	says(t, cli.ExitFailed, "errors found", "doctor", "--offline", "--database", "sqlite:"+nowhere+"/s.db", "--secret-key-file", nowhere+"/k", "--admin-addr", "127.0.0.1:1")
}

// running starts a program, which ends with the test.
func running(t *testing.T, cfg ServeCmd) *program {
	t.Helper()
	p, err := build(t.Context(), cfg, quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.start(t.Context(), cli.Streams{Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// A running program is asked how it is, and /readyz names the codes that doctor finds.
func TestDoctorOnARunningInstallation(t *testing.T) {
	t.Parallel()
	cfg := inDir(t.TempDir())
	p := running(t, cfg)
	_, states, codes := doctor(t, "--database", cfg.Database, "--secret-key-file", cfg.SecretKeyFile, "--admin-addr", p.admin.Addr())
	if states["running"] != "ok" || strings.Contains(codes, "running-") {
		t.Errorf("running is %s: %s", states["running"], codes)
	}
	for _, s := range p.group.services {
		if w, ok := s.(*installationWatch); ok {
			w.look(t.Context(), false)
		}
	}
	status, body := fetch(t, "http://"+p.admin.Addr()+"/readyz")
	if status != 200 || !strings.Contains(body, "installation warning: ") || !strings.Contains(body, "backup-never") {
		t.Errorf("readyz: %d %s", status, body)
	}
	if _, body := fetch(t, "http://"+p.admin.Addr()+"/metrics"); !strings.Contains(body, `schakel_installation_finding{code="backup-never",severity="warning"} 1`) {
		t.Error("/metrics has no schakel_installation_finding")
	}
}

// With a certificate the admin address speaks TLS alone, and doctor asks there with the certificate of the file as the only one that counts.
func TestAdminAddressOverTLS(t *testing.T) {
	t.Parallel()
	cfg := inDir(t.TempDir())
	cfg.AdminTLSCert, cfg.AdminTLSKey = writeCertificate(t, t.TempDir(), ecKey(t), 1)
	p := running(t, cfg)
	text, err := os.ReadFile(cfg.AdminTLSCert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}}}
	defer client.CloseIdleConnections()
	for url, want := range map[string]int{
		"https://" + p.admin.Addr() + "/livez": 200, "https://" + p.admin.Addr() + "/metrics": 200, "http://" + p.admin.Addr() + "/metrics": 400,
		"http://" + p.public.Addr() + "/login": 200,
	} {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", url, resp.StatusCode, want)
		}
	}
	another, anotherKey := writeCertificate(t, t.TempDir(), ecKey(t), 2)
	for name, c := range map[string]struct{ state, cert, key string }{
		"its certificate": {"ok", cfg.AdminTLSCert, cfg.AdminTLSKey}, "another certificate": {"", another, anotherKey}, "none": {"", "", ""},
	} {
		args := []string{"--database", cfg.Database, "--secret-key-file", cfg.SecretKeyFile, "--admin-addr", p.admin.Addr()}
		if c.cert != "" {
			args = append(args, "--admin-tls-cert", c.cert, "--admin-tls-key", c.key)
		}
		_, states, codes := doctor(t, args...)
		if (states["running"] == "ok") != (c.state == "ok") || strings.Contains(codes, "running-no ") != (c.state != "ok") {
			t.Errorf("asked with %s: running is %s, %s", name, states["running"], codes)
		}
	}
	says(t, cli.ExitUsage, "--admin-tls-cert and --admin-tls-key go together", "doctor", "--admin-tls-cert", cfg.AdminTLSCert)
}

// A provider at a host that is not among --outbound-hosts is found without asking it anything.
func TestDoctorOnAnUnlistedHost(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	says(t, cli.ExitFailed, "login.example.org is not among --outbound-hosts", "doctor", "--database", database, "--secret-key-file", key, "--admin-addr", "127.0.0.1:1",
		"--oidc-issuer", "https://login.example.org", "--oidc-client-id", "schakel", "--oidc-client-secret-file", key, "--outbound-hosts", "api.example.nl,*.school.example.nl")
	says(t, cli.ExitUsage, "a host is a name such as", "doctor", "--outbound-hosts", "https://api.example.nl")
}

// A backup that another program made is noted.
func TestRecordedBackup(t *testing.T) {
	t.Parallel()
	database, key := used(t)
	says(t, cli.ExitUsage, "give --to FILE, or --record WHAT", "backup", "--database", database)
	says(t, cli.ExitOK, "noted: pg_basebackup", "backup", "--database", database, "--record", "pg_basebackup to the vault")
	if _, _, codes := doctor(t, "--database", database, "--secret-key-file", key, "--admin-addr", "127.0.0.1:1"); strings.Contains(codes, "backup-") {
		t.Errorf("the backup is not known: %s", codes)
	}
}
