package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"schakel/server/cli"
	"schakel/server/cli/clitest"
)

// pulled is a Schakel as the pull API shows it: events that are received up to ten times, the oldest first.
type pulled struct {
	mu       sync.Mutex
	events   []string
	receives map[string]int
	dead     []string
	refuse   func(http.ResponseWriter) bool // answers a receive in place of the events; nil never does
	failing  int                            // so many requests that are not answered at all
}

func newPulled(n int) *pulled {
	p := &pulled{receives: map[string]int{}}
	for i := range n {
		p.events = append(p.events, fmt.Sprint("e", i+1))
	}
	return p
}

// ServeHTTP implements http.Handler.
func (p *pulled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing > 0 {
		p.failing--
		panic(http.ErrAbortHandler)
	}
	_, verb, _ := strings.Cut(r.URL.Path, "/events/v1/subscriptions/sub_1/")
	var in struct {
		MaxEvents  int
		LockTokens []string
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	switch {
	case r.URL.Path == "/oauth/token":
		_, _ = io.WriteString(w, `{"access_token":"t"}`)
	case verb == "receive" && p.refuse != nil && p.refuse(w):
	case verb == "receive":
		var list []string
		for _, id := range p.events[:min(len(p.events), in.MaxEvents)] {
			p.receives[id]++
			list = append(list, fmt.Sprintf(`{"event":{"id":%q,"source":"urn:a","type":"t"},"brokerProperties":{"lockToken":%q,"deliveryCount":%d,"maxDeliveryCount":10,"deliveryId":"dlv_%s"}}`, id, id, p.receives[id], id))
		}
		_, _ = io.WriteString(w, `{"details":[`+strings.Join(list, ",")+`]}`)
	default:
		for _, id := range in.LockTokens {
			last := verb == "release" && p.receives[id] >= 10
			if last {
				p.dead = append(p.dead, id)
			}
			if last || verb == "acknowledge" {
				p.events = slices.DeleteFunc(p.events, func(other string) bool { return other == id })
			}
		}
		_, _ = io.WriteString(w, `{"failedLockTokens":[]}`)
	}
}

// listening gives the arguments of a listener to a Schakel that is served.
func listening(t *testing.T, p http.Handler, args ...string) []string {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return append([]string{"listen", "--url", server.URL, "--subscription", "sub_1", "--client-id", "cli_1", "--client-secret", "s"}, args...)
}

// A receiver that fails for a while costs the event at the head a few of its receives, and those behind it none to speak of.
func TestListenToAFailingReceiver(t *testing.T) {
	t.Parallel()
	p, offers := newPulled(30), 0
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if offers++; offers <= 8 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer program.Close()
	began := time.Now()
	code, out, said := clitest.Program(execute).Run(t, "", listening(t, p, "--forward", program.URL, "--once", "--retry", "2ms")...)
	if code != cli.ExitOK || len(p.events)+len(p.dead) > 0 || p.receives["e1"] != 9 || strings.Count(out, "answered 200") != 30 {
		t.Errorf("%d, left %v, dead %v, e1 was received %d times\n%s", code, p.events, p.dead, p.receives["e1"], said)
	}
	delete(p.receives, "e1")
	for id, n := range p.receives {
		if n > 1 {
			t.Errorf("%s was received %d times", id, n)
		}
	}
	if took := time.Since(began); took < 2*255*time.Millisecond {
		t.Errorf("the pauses do not grow: %v", took)
	}
	if !strings.Contains(said, "t e1: answered 500 (receive 1 of 10); it is offered again") {
		t.Errorf("said:\n%s", said)
	}
}

// An event that failed at its last receive became a dead letter: a line names the page to resend it on. Those behind it go on.
func TestListenTellsOfADeadLetter(t *testing.T) {
	t.Parallel()
	p := newPulled(3)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"e2"`) {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer program.Close()
	args := listening(t, p, "--forward", program.URL, "--once", "--retry", "1ms")
	code, _, said := clitest.Program(execute).Run(t, "", args...)
	if code != cli.ExitOK || fmt.Sprint(p.dead) != "[e2]" || p.receives["e3"] > 2 {
		t.Errorf("%d, dead %v, receives %v", code, p.dead, p.receives)
	}
	want := "t e2: answered 400 at the last of 10 receives; it became a dead letter: resend it at " + args[2] + "/search?q=dlv_e2"
	if !strings.Contains(said, want) || strings.Count(said, "offered again") != 9 {
		t.Errorf("said, without %q:\n%s", want, said)
	}
}

// The pauses double up to a minute, and a success begins anew. A program that does not answer is told of in plain words.
func TestListenPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		l := newListener(&ListenCmd{Forward: "http://localhost:3000/", Retry: 2 * time.Second}, cli.NewMachine("listen", "http://localhost", ""), cli.Streams{Out: io.Discard, Err: &said})
		began, status := time.Now(), 0
		l.program.Transport = clitest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if status > 0 {
				return clitest.AnswerWith(status, nil, ""), nil
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		l.hand(t.Context(), leased{Event: json.RawMessage(`{"id":"1","source":"urn:a","type":"t"}`)})
		if took := time.Since(began); took != 30*time.Second || !strings.Contains(said.String(), "t 1: no answer within 30 s; it is offered again in 2 s\n") {
			t.Errorf("after %v: %s", took, &said)
		}
		var pauses []string
		for _, status = range []int{500, 500, 500, 500, 500, 500, 500, 202, 500} {
			if l.hand(t.Context(), leased{Event: json.RawMessage(`{}`)}) {
				pauses = append(pauses, "ok")
				continue
			}
			pauses = append(pauses, l.pause().String())
		}
		if got := strings.Join(pauses, " "); got != "4s 8s 16s 32s 1m0s 1m0s 1m0s ok 2s" {
			t.Error(got)
		}
	})
}

// TestListenSaysWhatIsWrong ends, or goes on, with the reason in plain words, and is listening only when it is.
func TestListenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	program := clitest.Program(execute)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	problem := func(code string) http.Handler {
		p := newPulled(0)
		p.refuse = func(w http.ResponseWriter) bool {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"detail":"Why not.","code":"`+code+`"}`)
			return true
		}
		return p
	}
	good := slices.Clip(listening(t, newPulled(0), "--once"))
	refused := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"client_assertion: aud must be the token endpoint https://a.example/oauth/token or the issuer https://a.example, and nothing else"}`)
	})
	for name, tc := range map[string]struct {
		code int
		said string
		args []string
	}{
		"nothing given":  {cli.ExitUsage, "missing flags: --subscription=ID, --url=URL", []string{"listen"}},
		"no scheme":      {cli.ExitUsage, "--url: begins with https://, or with http:// for this machine itself: http://localhost:18280", with(good, "--url", "localhost:18280")},
		"no scheme, far": {cli.ExitUsage, "https://events.example.nl", with(good, "--url", "events.example.nl")},
		"forward":        {cli.ExitUsage, "--forward: begins with https://, or with http:// for this machine itself: http://localhost:18290/events", append(good, "--forward", "localhost:18290/events")},
		"empty address":  {cli.ExitUsage, "--url: is missing", with(good, "--url", "")},
		"no key":         {cli.ExitUsage, "--client-key-file is missing", with(good, "--client-secret", "")},
		"pause":          {cli.ExitUsage, "--retry", append(good, "--retry=-1s")},
		"nobody there":   {cli.ExitFailed, closed.URL + " cannot be reached: connection refused", with(good, "--url", closed.URL)},
		"https to http":  {cli.ExitFailed, "it speaks http, not https", with(good, "--url", strings.Replace(good[2], "http:", "https:", 1))},
		"webhook":        {cli.ExitFailed, "Why not. Make an endpoint of kind pull", listening(t, problem("not-a-pull-subscription"))},
		"paused":         {cli.ExitFailed, "Why not.", listening(t, problem("subscription-stopped"), "--once")},
		"other address":  {cli.ExitFailed, "--token-audience https://a.example/oauth/token, or call the Schakel by its own address, --url https://a.example", listening(t, refused)},
		"another id":     {cli.ExitFailed, "status 401", with(listening(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })), "--client-id", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var out, said strings.Builder
			code := program(ctx, tc.args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &said})
			if code != tc.code || !strings.Contains(said.String(), tc.said) || strings.Contains(said.String(), "listening") {
				t.Errorf("%d, want %d and %q:\n%s", code, tc.code, tc.said, &said)
			}
		})
	}
}

// with gives a flag another value.
func with(args []string, flag, value string) []string {
	args = slices.Clone(args)
	args[slices.Index(args, flag)+1] = value
	return args
}

// A Schakel that is away is told of once, and the listener goes on when it is back.
func TestListenTriesOn(t *testing.T) {
	t.Parallel()
	p := newPulled(1)
	p.failing = 2
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var said strings.Builder
	out := writerFunc(func(text []byte) (int, error) { cancel(); return len(text), nil }) // the event
	code := execute(ctx, listening(t, p), cli.Streams{In: strings.NewReader(""), Out: out, Err: &said})
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if code != cli.ExitOK || len(lines) != 2 || !strings.Contains(lines[0], "cannot be reached") || !strings.Contains(lines[0], "trying on") || lines[1] != "listening for events of sub_1" {
		t.Errorf("%d:\n%s", code, &said)
	}
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(text []byte) (int, error) { return f(text) }
