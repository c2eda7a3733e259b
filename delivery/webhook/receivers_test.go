package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schakel/delivery/endpointcheck"
	"schakel/delivery/freeport"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/needs"
)

// receiverOf gives the example of the guide in a language.
func receiverOf(t *testing.T, language string) string {
	t.Helper()
	guide, err := os.ReadFile("receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(guide), "\n```"+language+"\n")
	source, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the guide has no example in %s", language)
	}
	return source
}

// TestReceiversOfTheGuide runs the examples of the guide as they are printed: each takes an event and a batch, takes a repeat as such, also under
// another key and after it was killed, and refuses what is no event.
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
			// As one and two with other bytes, and as both without being either.
			spaced := "{\n  \"type\": \"t\", \"id\": \"\\u0031\", \"source\": \"urn:a\", \"data\": {\"id\": \"2\", \"a\": [1.5e3, true, null, \"]}\\\"\"]}, \"specversion\": \"1.0\"\n}"
			four := `{"specversion":"1.0","id":"4","source":"urn:a","type":"t"}`
			three := `{"specversion":"1.0","data":{"id":"1","source":"urn:a"},"id":"1","source":"urn:b","type":"t"}`
			const single, batch = "application/cloudevents+json", "application/cloudevents-batch+json"
			r.post(t, single, "k1", one, http.StatusAccepted)
			r.post(t, single+"; charset=utf-8", "k1", one, http.StatusAccepted)
			r.post(t, batch, "k2", "["+two+","+two+"]", http.StatusAccepted)
			r.post(t, batch, "replayed", "[\n"+spaced+",\n"+three+"]", http.StatusAccepted)
			r.post(t, single, "", two, http.StatusAccepted)
			r.post(t, "text/plain", "k3", "hello", http.StatusUnsupportedMediaType)
			r.post(t, single, "k4", "nonsense", http.StatusBadRequest)
			r.post(t, single, "k5", four[:len(four)-1], http.StatusBadRequest)
			r.post(t, batch, "k6", "["+four+`,{"specversion":"1.0","id":"5","type":"t"}]`, http.StatusBadRequest)
			r.kill(t)
			r.start(t)
			r.post(t, single, "k1", one, http.StatusAccepted)
			r.post(t, single, "a key of a replay", one, http.StatusAccepted)
			r.post(t, batch, "k7", "["+four+","+spaced+"]", http.StatusAccepted)
			r.kill(t)
			stored, err := os.ReadFile(filepath.Join(dir, "events.ndjson"))
			if kept := idsIn(t, stored); err != nil || kept != "urn:a 1, urn:a 2, urn:b 1, urn:a 4, " || !strings.Contains(string(stored), "Zoë") {
				t.Errorf("%v; kept %s; stored:\n%s", err, kept, stored)
			}
			r.start(t)
			checked(t, r.address(), webhook.Signatures{})
			r.kill(t)
			// With two secrets, as during a change of keys, it takes what either signed and nothing else.
			before := webhook.SignKey{ID: "a", Algorithm: store.SignHMAC, Secret: webhook.NewSignSecret()}
			after := webhook.SignKey{ID: "b", Algorithm: store.SignHMAC, Secret: webhook.NewSignSecret()}
			r.env = "WEBHOOK_SECRET=" + after.Shared() + " " + before.Shared()
			r.start(t)
			defer r.kill(t)
			for _, keys := range [][]webhook.SignKey{{after, before}, {before}} {
				signs, err := webhook.NewSignatures(store.SignStandard, keys...)
				if err != nil {
					t.Fatal(err)
				}
				checked(t, r.address(), signs)
			}
		})
	}
}

// idsIn reads a file with one event a line, and lists their sources and ids.
func idsIn(t *testing.T, stored []byte) string {
	t.Helper()
	var ids string
	for line := range strings.Lines(string(stored)) {
		var e struct{ Source, ID string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		ids += e.Source + " " + e.ID + ", "
	}
	return ids
}

// checked finds no fault in a receiver.
func checked(t *testing.T, address string, signs webhook.Signatures) {
	t.Helper()
	check := endpointcheck.New(outbound.New(outbound.Config{AllowPlainHTTP: true}), nil, time.Now)
	report, err := check.Run(t.Context(), endpointcheck.Target{URL: address, Source: "urn:test", Batches: true, Sign: signs})
	for _, f := range report.Findings {
		if f.Result == endpointcheck.Fault || f.Result == endpointcheck.Advice {
			t.Errorf("%s: %s %s %s", f.Code, f.Text, f.Sent, f.Received)
		}
	}
	if err != nil || report.Count(endpointcheck.Pass) < 9 {
		t.Errorf("%v; %d findings in order", err, report.Count(endpointcheck.Pass))
	}
}

// receiver is a program of the guide that runs.
type receiver struct {
	dir  string
	args []string
	port int
	env  string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

func (r *receiver) start(t *testing.T) {
	t.Helper()
	r.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), r.args[0], r.args[1:]...)
	r.cmd.Dir, r.cmd.Env = r.dir, append(os.Environ(), fmt.Sprint("PORT=", r.port), r.env)
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
	if key != "" {
		req.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%v: %s", err, r.out.String())
	}
	_ = answer.Body.Close()
	if answer.StatusCode != want {
		t.Errorf("%s %s: %d, want %d; %s", kind, body, answer.StatusCode, want, r.out.String())
	}
}

// TestMessageSignaturesOfTheGuide verifies HTTP Message Signatures with the example of the guide, of either algorithm and with two keys; a
// changed body, header, address or key is noticed.
//
// Rules: EDU-N07.
func TestMessageSignaturesOfTheGuide(t *testing.T) {
	t.Parallel()
	node := needs.Program(t, "node")
	file := filepath.Join(t.TempDir(), "verify.mjs")
	guide, err := os.ReadFile("receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "\n```js\n// node verify.mjs")
	source, _, _ := strings.Cut(rest, "\n```\n")
	if err := os.WriteFile(file, []byte("//"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "https://Roc.example.nl:443/hook?a=1"
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{store.SignHMAC, store.SignEd25519} {
		after := webhook.SignKey{ID: "whk_2", Algorithm: algorithm, Secret: webhook.NewSignSecret()}
		before := webhook.SignKey{ID: "whk_1", Algorithm: algorithm, Secret: webhook.NewSignSecret()}
		signs, err := webhook.NewSignatures(store.SignMessage, after, before)
		if err != nil {
			t.Fatal(err)
		}
		body := []byte(`{"a":1}`)
		header := http.Header{"Content-Type": {"application/json"}, "Ce-Id": {"1"}, "Idempotency-Key": {`"k"`}}
		signs.Add(header, to, "k", body, time.Now())
		for name, tc := range map[string]struct {
			key    webhook.SignKey
			change func(r map[string]any, h map[string]string)
			want   string
		}{
			"new key":     {after, nil, "verified"},
			"old key":     {before, nil, "verified"},
			"other key":   {webhook.SignKey{ID: "whk_2", Algorithm: algorithm, Secret: webhook.NewSignSecret()}, nil, "wrong"},
			"other body":  {after, func(r map[string]any, _ map[string]string) { r["body"] = []byte(`{"a":2}`) }, "wrong"},
			"other id":    {after, func(_ map[string]any, h map[string]string) { h["ce-id"] = "2" }, "wrong"},
			"other place": {after, func(r map[string]any, _ map[string]string) { r["url"] = "https://roc.example.nl/other?a=1" }, "wrong"},
			"older": {after, func(_ map[string]any, h map[string]string) {
				h["signature-input"] = strings.Replace(h["signature-input"], ";created=", ";created=1", 2)
			}, "wrong"},
		} {
			lower := map[string]string{}
			for n := range header {
				lower[strings.ToLower(n)] = header.Get(n)
			}
			request := map[string]any{"method": "POST", "url": address, "headers": lower, "body": body}
			if tc.change != nil {
				tc.change(request, lower)
			}
			in, _ := json.Marshal(request)
			keys, _ := json.Marshal(map[string]string{tc.key.ID: tc.key.Shared()})
			cmd := exec.CommandContext(t.Context(), node, file)
			cmd.Env, cmd.Stdin = append(os.Environ(), "KEYS="+string(keys)), bytes.NewReader(in)
			if out, _ := cmd.CombinedOutput(); strings.TrimSpace(string(out)) != tc.want {
				t.Errorf("%s, %s: %s, want %s", algorithm, name, out, tc.want)
			}
		}
	}
}
