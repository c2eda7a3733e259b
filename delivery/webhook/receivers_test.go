package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/freeport"
	"schakel/delivery/webhook"
	"schakel/store/needs"
)

// receiverOf gives the example of the guide in a language.
func receiverOf(t *testing.T, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(webhook.Guide(), "\n```"+language+"\n")
	source, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the guide has no example in %s", language)
	}
	return source
}

// TestReceiversOfTheGuide runs the examples of the guide as they are printed: each takes an event and a batch, takes a repeat as such, also after
// it was killed, and refuses what is no event.
//
// Rules: EDU-18, CE-30.
func TestReceiversOfTheGuide(t *testing.T) {
	t.Parallel()
	needs.Full(t, "Python, Node.js, Java and a compiler")
	for _, tc := range []struct {
		language, file string
		run            []string
	}{
		{"python", "receiver.py", []string{needs.Program(t, "python3"), "receiver.py"}},
		{"js", "receiver.mjs", []string{needs.Program(t, "node"), "receiver.mjs"}},
		{"java", "Receiver.java", []string{needs.Program(t, "java"), "Receiver.java"}},
		{"go", "receiver.go", []string{"./receiver"}},
	} {
		t.Run(tc.language, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(receiverOf(t, tc.language)), 0o600); err != nil {
				t.Fatal(err)
			}
			if tc.language == "go" {
				build := exec.CommandContext(t.Context(), "go", "build", "-o", "receiver", tc.file)
				build.Dir = dir
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			ports, err := freeport.Find(1)
			if err != nil {
				t.Fatal(err)
			}
			r := &receiver{dir: dir, args: tc.run, port: ports[0]}
			r.start(t)
			one := `{"specversion":"1.0","id":"1","source":"urn:a","type":"t","data":{"name":"Zoë"}}`
			two := `{"specversion":"1.0","id":"2","source":"urn:a","type":"t"}`
			const single, batch = "application/cloudevents+json", "application/cloudevents-batch+json"
			r.post(t, single, "k1", one, http.StatusAccepted)
			r.post(t, single+"; charset=utf-8", "k1", one, http.StatusAccepted)
			r.post(t, batch, "k2", "["+two+"]", http.StatusAccepted)
			r.post(t, "text/plain", "k3", "hello", http.StatusUnsupportedMediaType)
			r.post(t, single, "k4", "nonsense", http.StatusBadRequest)
			r.kill(t)
			r.start(t)
			r.post(t, single, "k1", one, http.StatusAccepted)
			r.kill(t)
			stored, err := os.ReadFile(filepath.Join(dir, "events.ndjson"))
			if err != nil || bytes.Count(stored, []byte("\n")) != 2 || !strings.Contains(string(stored), "Zoë") {
				t.Errorf("%v; stored:\n%s", err, stored)
			}
		})
	}
}

// receiver is a program of the guide that runs.
type receiver struct {
	dir  string
	args []string
	port int
	cmd  *exec.Cmd
	out  bytes.Buffer
}

func (r *receiver) start(t *testing.T) {
	t.Helper()
	r.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), r.args[0], r.args[1:]...)
	r.cmd.Dir, r.cmd.Env = r.dir, append(os.Environ(), fmt.Sprint("PORT=", r.port))
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	for range 600 {
		if answer, err := http.Get(r.address()); err == nil {
			_ = answer.Body.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("it does not listen: %s", r.out.String())
}

func (r *receiver) kill(t *testing.T) {
	t.Helper()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func (r *receiver) address() string { return fmt.Sprintf("http://127.0.0.1:%d/", r.port) }

func (r *receiver) post(t *testing.T, kind, key, body string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.address(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Idempotency-Key", `"`+key+`"`)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%v: %s", err, r.out.String())
	}
	_ = answer.Body.Close()
	if answer.StatusCode != want {
		t.Errorf("%s %s: %d, want %d; %s", kind, body, answer.StatusCode, want, r.out.String())
	}
}
