package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/uuid"
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

// TestGoSDK sends with the CloudEvents SDK for Go in both content modes, and has
// it receive what was sent, in both too.
//
// Rules: EDU-15, EDU-N04.
func TestGoSDK(t *testing.T) {
	t.Parallel()
	p := trial.NewPKI(t)
	f := &foreign{Program: trial.NewProgram(t, p, demo.OwnA(), trial.SQLitePath(t)), Receiver: trial.NewReceiver(t, p)}
	sdk := startGoSDKReceiver(t, p)
	f.prepare(t, map[string]demo.Target{registry.ModeStructured: sdk.at("/structured"), registry.ModeBinary: sdk.at("/binary")})
	for name, as := range map[string]func(context.Context) context.Context{
		"structured": cloudevents.WithEncodingStructured, "binary": cloudevents.WithEncodingBinary,
	} {
		protocol, err := cehttp.New(cehttp.WithTarget(f.Base+"/events/v1/events"), cehttp.WithClient(http.Client{Transport: authorised{f}}))
		trial.Must(t, err)
		client, err := cloudevents.NewClient(protocol)
		trial.Must(t, err)
		e := cloudevents.NewEvent()
		e.SetID(uuid.NewString())
		e.SetSource(f.Own.Source())
		e.SetType(demo.TypeStudentChanged)
		trial.Must(t, e.SetData(cloudevents.ApplicationJSON, map[string]any{"naam": "Zoë", "n": 1}))
		result := client.Send(as(t.Context()), e)
		if !cloudevents.IsACK(result) {
			t.Errorf("%s: %v", name, result)
			continue
		}
		for _, path := range []string{"/structured", "/binary"} {
			sdk.waitFor(t, path, e.ID())
		}
	}
}

// authorised adds the token and a new key to what the SDK sends.
type authorised struct{ f *foreign }

// RoundTrip implements http.RoundTripper.
func (a authorised) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+a.f.token)
	q.Header.Set("Idempotency-Key", trial.EventHeader("")["Idempotency-Key"])
	return a.f.Client.Transport.RoundTrip(q)
}

// goSDKReceiver is a webhook made with the SDK.
type goSDKReceiver struct {
	*trial.Receiver // for its tokens
	hooks           *httptest.Server

	mu   sync.Mutex
	took map[string]string // data by path and id
}

func startGoSDKReceiver(t *testing.T, p *trial.PKI) *goSDKReceiver {
	t.Helper()
	s := &goSDKReceiver{Receiver: trial.NewReceiver(t, p), took: map[string]string{}}
	mux := http.NewServeMux()
	for _, path := range []string{"/structured", "/binary"} {
		protocol, err := cehttp.New()
		trial.Must(t, err)
		handler, err := cloudevents.NewHTTPReceiveHandler(t.Context(), protocol, func(e cloudevents.Event) cloudevents.Result {
			if err := e.Validate(); err != nil {
				return cloudevents.NewHTTPResult(http.StatusBadRequest, "%w", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took[path+" "+e.ID()] = string(e.Data())
			return cloudevents.NewHTTPResult(http.StatusAccepted, "taken")
		})
		trial.Must(t, err)
		mux.Handle(path, handler)
	}
	s.hooks = httptest.NewUnstartedServer(mux)
	s.hooks.TLS = &tls.Config{Certificates: []tls.Certificate{p.Cert}}
	s.hooks.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.hooks.StartTLS()
	t.Cleanup(s.hooks.Close)
	return s
}

func (s *goSDKReceiver) at(path string) demo.Target {
	target := s.Target("Go SDK "+path, path)
	target.URL = s.hooks.URL + path
	return target
}

// waitFor waits until the SDK took an event, with the data that was sent.
func (s *goSDKReceiver) waitFor(t *testing.T, path, id string) {
	t.Helper()
	trial.Eventually(t, "the Go SDK takes event "+id+" at "+path, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		data, ok := s.took[path+" "+id]
		return ok && data == `{"n":1,"naam":"Zoë"}`, data
	})
}
