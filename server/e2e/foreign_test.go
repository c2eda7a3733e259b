package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"schakel/registry"
	"schakel/registry/token"
	"schakel/server/demo"
	"schakel/store"
)

// foreign is a program with one publisher and an endpoint for each content mode.
type foreign struct {
	*program
	*receiver
	token string
}

// newForeign starts a program that delivers what is published to hooks, by name
// and content mode.
func newForeign(t *testing.T, hooks map[string]demo.Target) *foreign {
	t.Helper()
	p := newPKI(t)
	f := &foreign{program: newProgram(t, p, demo.OwnA(), sqlitePath(t)), receiver: newReceiver(t, p)}
	f.prepare(t, hooks)
	return f
}

func (f *foreign) prepare(t *testing.T, hooks map[string]demo.Target) {
	t.Helper()
	var creds demo.Credentials
	f.setUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
		creds = must1[demo.Credentials](t)(c.Publisher(ctx, c.Admin, f.own))
		_, actor, err := c.Approved(ctx, organisation("Foreign", "34567890"))
		must(t, err)
		_, err = c.Subscribe(ctx, actor, f.target("go", "/go"), demo.EventTypes()...)
		must(t, err)
		for mode, hook := range hooks {
			endpoint, err := c.Endpoints.Create(ctx, actor, "", registry.EndpointInput{
				Name: hook.Name, Kind: store.EndpointWebhook, ContentMode: mode, URL: hook.URL, TokenURL: hook.TokenURL,
				TokenClientID: hook.ID, TokenSecret: hook.Secret, TokenAuthMethod: token.ClientSecretBasic,
			})
			must(t, err)
			sub, err := c.Request(ctx, actor, endpoint.ID, demo.EventTypes()...)
			must(t, err)
			must(t, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
		}
	})
	f.start(t)
	f.token = f.program.token(t, creds, "events.publish")
}

// TestCurl publishes in the three HTTP modes with curl.
func TestCurl(t *testing.T) {
	t.Parallel()
	curl := need(t, "curl")
	f := newForeign(t, nil)
	structured, body := newEvent(f.own, demo.TypeEnrolled)
	first, one := newEvent(f.own, demo.TypeEnrolled)
	second, two := newEvent(f.own, demo.TypeUnenrolled)
	for name, send := range map[string]struct {
		header []string
		body   string
		ids    []string
	}{
		"structured": {[]string{"content-type: application/cloudevents+json; charset=utf-8"}, body, []string{structured}},
		"batch":      {[]string{"content-type: application/cloudevents-batch+json"}, "[" + one + "," + two + "]", []string{first, second}},
		"binary": {[]string{
			"content-type: text/plain", "ce-specversion: 1.0", "ce-id: by-curl", "ce-source: " + f.own.Source(), "ce-type: " + demo.TypeEnrolled,
		}, "plain text, not JSON", []string{"by-curl"}},
	} {
		args := []string{
			"--silent", "--show-error", "--cacert", f.caFile, "--write-out", "\n%{http_code}", "--data-binary", "@-",
			"-H", "authorization: Bearer " + f.token, "-H", "idempotency-key: " + eventHeader("")["Idempotency-Key"],
		}
		for _, h := range send.header {
			args = append(args, "-H", h)
		}
		cmd := exec.CommandContext(t.Context(), curl, append(args, f.base+"/events/v1/events")...)
		cmd.Stdin = strings.NewReader(send.body)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "\n202") {
			t.Errorf("%s: %v %s", name, err, out)
			continue
		}
		for _, id := range send.ids {
			f.waitFor(t, "/go", id)
		}
	}
}

// TestJavaScriptSDK sends with the CloudEvents SDK for JavaScript, and has it
// receive what was sent, in both content modes.
func TestJavaScriptSDK(t *testing.T) {
	t.Parallel()
	node, modules := needNode(t)
	p := newPKI(t)
	f := &foreign{program: newProgram(t, p, demo.OwnA(), sqlitePath(t)), receiver: newReceiver(t, p)}
	hooks := map[string]demo.Target{}
	seen := map[string]*jsReceiver{}
	for _, mode := range []string{registry.ModeStructured, registry.ModeBinary} {
		seen[mode] = startJSReceiver(t, p, node, modules)
		hooks[mode] = seen[mode].target
	}
	f.prepare(t, hooks)
	cmd := exec.CommandContext(t.Context(), node, "clients/sender.js", f.base+"/events/v1/events", f.token, f.own.Source(), demo.TypeEnrolled)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_EXTRA_CA_CERTS="+p.caFile)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sender: %v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		var sent struct {
			Mode   string
			IDs    []string
			Answer struct{ Events []struct{ ID string } }
		}
		must(t, json.Unmarshal(line, &sent))
		if len(sent.Answer.Events) != len(sent.IDs) {
			t.Errorf("%s: answer %s", sent.Mode, line)
		}
		for _, id := range sent.IDs {
			for mode, js := range seen {
				js.waitFor(t, mode, id)
			}
		}
	}
}

// jsReceiver is a webhook in a process of its own.
type jsReceiver struct {
	target demo.Target
	mu     sync.Mutex
	lines  []string
}

func startJSReceiver(t *testing.T, p *pki, node, modules string) *jsReceiver {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "clients/receiver.js", p.certFile, p.keyFile, receiverToken)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	var complaints logBuffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the receiver did not start: %s", complaints.String())
	}
	base := "https://127.0.0.1:" + lines.Text()
	js := &jsReceiver{target: demo.Target{
		Name: "JavaScript SDK", URL: base + "/hook", TokenURL: base + "/token", Credentials: demo.Credentials{ID: "any", Secret: "any"},
	}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() {
			js.mu.Lock()
			js.lines = append(js.lines, lines.Text())
			js.mu.Unlock()
		}
	}()
	t.Cleanup(func() { _ = in.Close(); <-read; _ = cmd.Wait() })
	return js
}

// waitFor waits until the SDK took an event, with the data that was sent.
func (js *jsReceiver) waitFor(t *testing.T, mode, id string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the JavaScript SDK takes event %s in %s mode", id, mode), func() (bool, string) {
		js.mu.Lock()
		defer js.mu.Unlock()
		ok := slices.ContainsFunc(js.lines, func(line string) bool {
			return strings.Contains(line, `"id":"`+id+`"`) && strings.Contains(line, `"data":{"naam":"Zoë","n":1}`)
		})
		return ok, strings.Join(js.lines, "\n")
	})
}
