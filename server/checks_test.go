package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/certs/certtest"
	"schakel/server/cli"
)

// The command checks a receiver on this machine, prints what is wrong in words or as JSON, and says by its exit code whether anything is.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	good := true
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var e map[string]any
		err := json.Unmarshal(body, &e)
		switch id, secret, _ := r.BasicAuth(); {
		case r.URL.Path == "/token" && id == "dev" && secret == "s3cret":
			_, _ = io.WriteString(w, `{"access_token":"t0ken","expires_in":60}`)
		case r.URL.Path == "/token", r.Header.Get("Authorization") != "Bearer t0ken":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("Content-Type") != "application/cloudevents+json":
			w.WriteHeader(http.StatusUnsupportedMediaType)
		case good && (err != nil || e["source"] == nil):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer receiver.Close()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var out, complaint strings.Builder
		code := execute(context.WithoutCancel(t.Context()), append([]string{"check"}, args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &complaint})
		if code != want {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, code, want, complaint.String(), out.String())
		}
		return out.String() + complaint.String()
	}
	token := []string{"--token-url", receiver.URL + "/token", "--client-id", "dev", "--client-secret-file", file}
	hook := receiver.URL + "/hook"
	text := run(0, append(token, hook)...)
	for _, word := range []string{"IN ORDER", "A wrong secret gets no token [SEC-02]", "Faults: 0."} {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
	good = false
	text = run(1, append(token, "--language", "nl", hook)...)
	for _, word := range []string{"FOUT", "Wat geen JSON is, wordt geweigerd met 400 [EDU-N02]", "| HTTP 202 Accepted", "2 fouten"} {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
	var report struct {
		Result   string
		Findings []struct{ Code, Result, Rule string }
	}
	text = run(1, append(token, "--json", hook)...)
	if err := json.Unmarshal([]byte(text[:strings.LastIndex(text, "}")+1]), &report); err != nil || report.Result != "fault" || len(report.Findings) < 20 {
		t.Errorf("%v: %+v", err, report)
	}
	if strings.Contains(text, "s3cret") || strings.Contains(text, "t0ken") {
		t.Error("the report tells a secret")
	}
	for _, wrong := range [][]string{{"nonsense"}, {"--client-id", "dev", hook}, {"--certificate", file, hook}, {"--certificate", file, "--key", file, hook}, {"--token-url", hook, hook}, {"--event", filepath.Join(t.TempDir(), "none"), hook}, {}} {
		if text := run(2, wrong...); text == "" {
			t.Errorf("%q: says nothing", fmt.Sprint(wrong))
		}
	}
}

// A receiver that asks for a client certificate is shown that of the command.
func TestCheckCommandWithCertificate(t *testing.T) {
	t.Parallel()
	shown := certtest.New(t, time.Now()).Issue("00000001123456789000")
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if len(r.TLS.PeerCertificates) == 1 && !r.TLS.PeerCertificates[0].Equal(shown.TLS.Leaf) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	receiver.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	receiver.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	receiver.StartTLS()
	defer receiver.Close()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	args := []string{"check", "--json", "--ca-file", write("ca", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})), receiver.URL + "/hook"}
	event := func(more ...string) string {
		var out strings.Builder
		execute(context.WithoutCancel(t.Context()), append(args[:len(args):len(args)], more...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
		var report struct {
			Findings []struct{ Code, Result string }
		}
		text := out.String()
		if err := json.Unmarshal([]byte(text[:strings.LastIndex(text, "}")+1]), &report); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, f := range report.Findings {
			if f.Code == "event" {
				return f.Result
			}
		}
		return ""
	}
	if got := event(); got == "pass" {
		t.Error("a receiver that asks for a certificate took an event without one")
	}
	if got := event("--certificate", write("cert", shown.Chain), "--key", write("key", []byte(shown.KeyPEM))); got != "pass" {
		t.Errorf("with the certificate: %s", got)
	}
}
