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
	"schakel/registry/identity/token"
	"schakel/registry/partners"
	"schakel/server/demo"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// foreign is a program with one publisher and an endpoint for each content mode.
type foreign struct {
	*trial.Program
	*trial.Receiver
	token string
}

// newForeign starts a program that delivers what is published to hooks, by name
// and content mode.
func newForeign(t *testing.T, hooks map[string]demo.Target) *foreign {
	t.Helper()
	p := trial.NewPKI(t)
	f := &foreign{Program: trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t)), Receiver: trial.NewReceiver(t, p)}
	f.prepare(t, hooks)
	return f
}

func (f *foreign) prepare(t *testing.T, hooks map[string]demo.Target) {
	t.Helper()
	var creds demo.Credentials
	f.SetUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		trial.Must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
		creds = trial.Must1[demo.Credentials](t)(c.Publisher(ctx, c.Admin, f.Own))
		_, actor, err := c.Approved(ctx, trial.Organisation("Foreign", "34567890"))
		trial.Must(t, err)
		_, err = c.Subscribe(ctx, actor, f.Target("go", "/go"), demo.EventTypes()...)
		trial.Must(t, err)
		for mode, hook := range hooks {
			var batch int64
			content := mode
			if mode == modeBatch {
				content, batch = registry.ModeStructured, 10
			}
			endpoint, err := c.Endpoints.Create(ctx, actor, "", partners.EndpointInput{
				BatchEvents: batch, BatchStated: batch > 0, Name: hook.Name, Kind: store.EndpointWebhook, ContentMode: content, URL: hook.URL, TokenURL: hook.TokenURL,
				TokenClientID: hook.ID, TokenSecret: hook.Secret, TokenAuthMethod: token.ClientSecretBasic,
			})
			trial.Must(t, err)
			sub, err := c.Request(ctx, actor, endpoint.ID, demo.EventTypes()...)
			trial.Must(t, err)
			trial.Must(t, c.Subscriptions.Approve(ctx, c.Admin, sub.ID))
		}
	})
	f.Start(t)
	f.token = f.Program.Token(t, creds, "events.publish")
}

// TestCurl publishes in the three HTTP modes with curl.
//
// Rules: EDU-15, EDU-N04.
func TestCurl(t *testing.T) {
	t.Parallel()
	curl := needs.Program(t, "curl")
	f := newForeign(t, nil)
	structured, body := trial.NewEvent(f.Own, demo.TypeEnrolled)
	first, one := trial.NewEvent(f.Own, demo.TypeEnrolled)
	second, two := trial.NewEvent(f.Own, demo.TypeUnenrolled)
	for name, send := range map[string]struct {
		header []string
		body   string
		ids    []string
	}{
		"structured": {[]string{"content-type: application/cloudevents+json; charset=utf-8"}, body, []string{structured}},
		"batch":      {[]string{"content-type: application/cloudevents-batch+json"}, "[" + one + "," + two + "]", []string{first, second}},
		"binary": {[]string{
			"content-type: text/plain", "ce-specversion: 1.0", "ce-id: by-curl", "ce-source: " + f.Own.Source(), "ce-type: " + demo.TypeEnrolled,
		}, "plain text, not JSON", []string{"by-curl"}},
	} {
		args := []string{
			"--silent", "--show-error", "--cacert", f.CAFile, "--write-out", "\n%{http_code}", "--data-binary", "@-",
			"-H", "authorization: Bearer " + f.token, "-H", "idempotency-key: " + trial.EventHeader("")["Idempotency-Key"],
		}
		for _, h := range send.header {
			args = append(args, "-H", h)
		}
		cmd := exec.CommandContext(t.Context(), curl, append(args, f.Base+"/events/v1/events")...)
		cmd.Stdin = strings.NewReader(send.body)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "\n202") {
			t.Errorf("%s: %v %s", name, err, out)
			continue
		}
		for _, id := range send.ids {
			f.WaitFor(t, "/go", id)
		}
	}
}

// modeBatch is a hook that gets several events in one request.
const modeBatch = "batch"

// TestJavaScriptSDK sends with the CloudEvents SDK for JavaScript, and has it
// receive what was sent, in both content modes and in batches.
//
// Rules: EDU-11, EDU-15, EDU-N04, CE-56.
func TestJavaScriptSDK(t *testing.T) {
	t.Parallel()
	node, modules := needNode(t)
	p := trial.NewPKI(t)
	f := &foreign{Program: trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t)), Receiver: trial.NewReceiver(t, p)}
	hooks := map[string]demo.Target{}
	seen := map[string]*jsReceiver{}
	for _, mode := range []string{registry.ModeStructured, registry.ModeBinary, modeBatch} {
		seen[mode] = startJSReceiver(t, p, node, modules)
		hooks[mode] = seen[mode].target
	}
	f.prepare(t, hooks)
	cmd := exec.CommandContext(t.Context(), node, "clients/sender.js", f.Base+"/events/v1/events", f.token, f.Own.Source(), demo.TypeEnrolled)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_EXTRA_CA_CERTS="+p.CAFile)
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
		trial.Must(t, json.Unmarshal(line, &sent))
		if len(sent.Answer.Events) != len(sent.IDs) {
			t.Errorf("%s: answer %s", sent.Mode, line)
		}
		for _, id := range sent.IDs {
			for mode, js := range seen {
				js.waitFor(t, mode, id)
			}
		}
	}
	// What came in together is there to go out together.
	if all := seen[modeBatch].all(); !strings.Contains(all, `"batch":true`) {
		t.Errorf("no batch came: %s", all)
	}
}

// all returns the events that the SDK took.
func (js *jsReceiver) all() string {
	js.mu.Lock()
	defer js.mu.Unlock()
	return strings.Join(js.lines, "\n")
}

// jsReceiver is a webhook in a process of its own.
type jsReceiver struct {
	target demo.Target
	mu     sync.Mutex
	lines  []string
}

func startJSReceiver(t *testing.T, p *trial.PKI, node, modules string) *jsReceiver {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "clients/receiver.js", p.CertFile, p.KeyFile, trial.ReceiverToken)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	var complaints trial.Log
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	trial.Must(t, err)
	out, err := cmd.StdoutPipe()
	trial.Must(t, err)
	trial.Must(t, cmd.Start())
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
	trial.Eventually(t, fmt.Sprintf("the JavaScript SDK takes event %s in %s mode", id, mode), func() (bool, string) {
		js.mu.Lock()
		defer js.mu.Unlock()
		ok := slices.ContainsFunc(js.lines, func(line string) bool {
			return strings.Contains(line, `"id":"`+id+`"`) && strings.Contains(line, `"data":{"naam":"Zoë","n":1}`)
		})
		return ok, strings.Join(js.lines, "\n")
	})
}
