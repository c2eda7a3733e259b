package webhook

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/event"
	"schakel/delivery/outbound"
)

var _ Payload = (*event.Event)(nil)

type received struct {
	method string
	header http.Header
	body   string
}

// receiver answers 202 and hands over the requests it saw.
func receiver(t *testing.T) (*httptest.Server, chan received) {
	t.Helper()
	seen := make(chan received, 1)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- received{r.Method, r.Header, string(body)}
		w.WriteHeader(http.StatusAccepted)
	}), seen
}

// Rules: IDEM-02, IDEM-I01, CE-50, CE-60.
func TestSendModes(t *testing.T) {
	t.Parallel()
	structured := string(note{}.AppendJSON(nil))
	for _, tt := range []struct {
		name, mode string
		event      Payload
		data       string
		wantType   string
		wantBody   string
		wantID     string
	}{
		{"default", "", note{}, `{"a":1}`, "application/cloudevents+json", structured, ""},
		{"structured", ModeStructured, note{}, `{"a":1}`, "application/cloudevents+json", structured, ""},
		{"binary", ModeBinary, note{}, `{"a":1}`, "application/json", `{"a":1}`, "1"},
		{"binary without data", ModeBinary, note{}, "", "application/cloudevents+json", structured, ""},
		{"binary not possible", ModeBinary, textOnly{}, `{"a":1}`, "application/cloudevents+json", structured, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, seen := receiver(t)
			m := message()
			m.Event, m.Data = tt.event, []byte(tt.data)
			out := newSender(t, nil, server).Send(t.Context(), Target{EndpointID: "e", URL: server.URL, Mode: tt.mode}, m)
			if out.Status != 202 || out.Kind != "" || !out.StartedAt.Equal(now()) {
				t.Fatalf("%+v", out)
			}
			got := <-seen
			if got.method != "POST" || got.body != tt.wantBody || got.header.Get("Content-Type") != tt.wantType || got.header.Get("Ce-Id") != tt.wantID {
				t.Errorf("%+v", got)
			}
			if k := got.header["Idempotency-Key"]; len(k) != 1 || k[0] != `"`+key+`"` {
				t.Errorf("IDEM-I01: Idempotency-Key %q", k)
			}
			if got.header.Get("Authorization") != "" || !strings.HasPrefix(got.header.Get("User-Agent"), "Schakel/") {
				t.Errorf("%v", got.header)
			}
		})
	}
}

// What an event says of its trace goes into the headers in which tracing of receivers looks for it, in both modes.
//
// Rules: CE-24.
func TestSendTraceContext(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	body := `{"specversion":"1.0","id":"1","source":"urn:x","type":"nl.x.note","traceparent":"` + parent + `","tracestate":"a=1","data":{"a":1}}`
	_, events, err := event.Read(http.Header{"Content-Type": {event.MediaType}}, []byte(body), event.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{ModeStructured, ModeBinary} {
		server, seen := receiver(t)
		m := message()
		m.Event = &events[0]
		if out := newSender(t, nil, server).Send(t.Context(), Target{EndpointID: "e", URL: server.URL, Mode: mode}, m); out.Status != http.StatusAccepted {
			t.Fatalf("%s: %+v", mode, out)
		}
		if got := (<-seen).header; got.Get("traceparent") != parent || got.Get("tracestate") != "a=1" {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

func TestSendBatch(t *testing.T) {
	t.Parallel()
	server, seen := receiver(t)
	out := newSender(t, nil, server).SendBatch(t.Context(), Target{URL: server.URL}, []byte(`[{},{}]`), key)
	got := <-seen
	if out.Status != 202 || got.body != `[{},{}]` || got.header.Get("Content-Type") != "application/cloudevents-batch+json" ||
		got.header.Get("Idempotency-Key") != `"`+key+`"` {
		t.Errorf("%+v, %+v", out, got)
	}
}

// TestSendKeepsAnswersWhole has a sender keep more of an answer than is stored, and report when it is not all.
func TestSendKeepsAnswersWhole(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 10_000)) })
	for most, truncated := range map[int]bool{0: true, 9_999: true, 10_000: false} {
		f := newSender(t, nil, server)
		sender := NewSender(Config{Client: f.client, Now: f.clock.now, Logger: f.logger, AnswerBytes: most})
		out := sender.Send(t.Context(), Target{URL: server.URL}, message())
		want := most
		if most == 0 {
			want = maxStoredBody
		}
		if len(out.ResponseBody) != want || out.Truncated != truncated {
			t.Errorf("at most %d: %d bytes, truncated %t", most, len(out.ResponseBody), out.Truncated)
		}
	}
}

// TestAnswersAreNotRedacted: the answer of a handler is a message for somebody, and has its bytes also where they equal a
// secret; the stored attempt has not.
func TestAnswersAreNotRedacted(t *testing.T) {
	t.Parallel()
	const secret = "J"
	said := `<Ack V="J" DN="Ja"/>`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"Ja","token_type":"Bearer"}`)
			return
		}
		_, _ = io.WriteString(w, said)
	})
	f := newSender(t, nil, server)
	target := Target{EndpointID: "e", URL: server.URL, Token: &TokenConfig{TokenURL: server.URL + "/token", ClientID: "c", AuthMethod: AuthBasic, Secret: secret}}
	for _, most := range []int{0, 1000} {
		sender := NewSender(Config{Client: f.client, Now: f.clock.now, Logger: f.logger, AnswerBytes: most})
		out := sender.Send(t.Context(), target, message())
		if whole := string(out.ResponseBody) == said; out.Status != 200 || whole != (most > 0) {
			t.Errorf("at most %d: %d %s %s", most, out.Status, out.ResponseBody, out.Detail)
		}
	}
}

func TestSendReportsTheAnswer(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.Header().Set("Set-Cookie", "session=abc")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
	})
	out := newSender(t, nil, server).Send(t.Context(), Target{URL: server.URL}, message())
	if out.Status != 503 || out.RetryAfter != 30*time.Second || len(out.ResponseBody) != maxStoredBody {
		t.Errorf("%d, %v, %d bytes", out.Status, out.RetryAfter, len(out.ResponseBody))
	}
	if got := out.ResponseHeader.Get("Set-Cookie"); got != redacted {
		t.Errorf("cookie %q", got)
	}
	if out.RequestHeader.Get("Content-Type") == "" || out.RequestHeader.Get("Idempotency-Key") == "" {
		t.Errorf("request header %v", out.RequestHeader)
	}
}

func TestSendBoundsTheHeader(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 5000))
		w.Header().Set("Location", "/"+strings.Repeat("é", 500))
		w.WriteHeader(http.StatusFound)
	})
	out := newSender(t, nil, server).Send(t.Context(), Target{URL: server.URL}, message())
	if out.Status != 302 || out.ResponseHeader.Get("X-Large") != "" || len(out.ResponseHeader.Get("Location")) > 260 {
		t.Errorf("%d, %v", out.Status, out.ResponseHeader)
	}
}

func TestSendFailures(t *testing.T) {
	t.Parallel()
	stuck := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that we left
		<-r.Context().Done()
	})
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	s := newSender(t, nil, stuck, closed)
	for _, tt := range []struct {
		name   string
		target Target
		key    string
		want   ErrorKind
	}{
		{"no answer", Target{URL: stuck.URL, Timeout: 50 * time.Millisecond}, key, "timeout"},
		{"nothing listens", Target{URL: closed.URL}, key, "connect"},
		{"metadata", Target{URL: "https://169.254.169.254/"}, key, "blocked-address"},
		{"plain HTTP", Target{URL: "http://127.0.0.1/"}, key, "blocked-address"},
		{"wrong name", Target{URL: strings.Replace(stuck.URL, "127.0.0.1", "localhost", 1)}, key, "tls"},
		{"bad URL", Target{URL: "https://exa mple/"}, key, KindRequest},
		{"no key", Target{URL: stuck.URL}, "", KindRequest},
		{"key that breaks the string", Target{URL: stuck.URL}, `a", "b`, KindRequest},
		{"key with a line end", Target{URL: stuck.URL}, "a\r\nX: y", KindRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := message()
			m.IdempotencyKey = tt.key
			out := s.Send(t.Context(), tt.target, m)
			if out.Kind != tt.want || out.Status != 0 || out.Detail == "" {
				t.Errorf("kind %q, want %q: %+v", out.Kind, tt.want, out)
			}
		})
	}
}

func TestSendTakesStatusThoughBodyBreaksOff(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "part")
	})
	out := newSender(t, nil, server).Send(t.Context(), Target{URL: server.URL}, message())
	if out.Status != 202 || out.Kind != "" || string(out.ResponseBody) != "part" {
		t.Errorf("%+v", out)
	}
}

// Rules: CE-63.
func TestRedirectLeaksNothing(t *testing.T) {
	t.Parallel()
	other, seen := receiver(t)
	as := newTokenServer(t)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
	})
	s := newSender(t, nil, server, other, as.Server)
	out := s.Send(t.Context(), Target{EndpointID: "e", URL: server.URL, Token: as.config(AuthBasic)}, message())
	if out.Status != 308 || Verdict(out, facts()).Next != NextPark || len(seen) != 0 {
		t.Errorf("%+v, %d requests elsewhere", out, len(seen))
	}
}

func TestEchoedSecretsAreHidden(t *testing.T) {
	t.Parallel()
	as := newTokenServer(t)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization")+" and know "+secret)
	})
	s := newSender(t, nil, server, as.Server)
	out := s.Send(t.Context(), Target{EndpointID: "e", URL: server.URL, Token: as.config(AuthBasic)}, message())
	if got := string(out.ResponseBody); got != "you sent Bearer [redacted] and know [redacted]" {
		t.Errorf("body %q", got)
	}
	for name, header := range map[string]http.Header{"X-Echo": out.ResponseHeader, "Authorization": out.RequestHeader} {
		if got := header.Get(name); got != "Bearer [redacted]" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Rules: EDU-02.
func TestSecretHidesItself(t *testing.T) {
	t.Parallel()
	cfg := TokenConfig{ClientID: "c", Secret: secret}
	var log logBuffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "cfg", cfg, "secret", cfg.Secret)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "cfg", cfg, "secret", cfg.Secret)
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), redacted) {
		t.Error(log.String())
	}
}

// A receiver that writes two answers for each request delivers nothing that it did not read, neither to its own endpoint nor to
// another one at the same host.
//
// Rules: EDU-09.
func TestSecondAnswerIsNoDelivery(t *testing.T) { // guarantee G1
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			t.Parallel()
			const requests = 5000
			got := make(map[string]bool)
			var mu sync.Mutex
			url, client := answersTwice(t, secure, func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				got[r.Header.Get("Idempotency-Key")] = true
			})
			sender := NewSender(Config{Client: client, Logger: slog.New(slog.DiscardHandler)})
			wrong, delivered := 0, 0
			for i := range requests {
				m := message()
				m.IdempotencyKey = fmt.Sprintf("key-%d", i)
				out := sender.Send(t.Context(), Target{EndpointID: fmt.Sprint("endpoint ", i%4), URL: url}, m)
				mu.Lock()
				if out.Status == http.StatusAccepted {
					delivered++
					if !got[`"`+m.IdempotencyKey+`"`] {
						wrong++
					}
				}
				mu.Unlock()
			}
			if wrong != 0 || delivered < requests-50 {
				t.Errorf("%d of %d were delivered, %d of them were received by nobody", delivered, requests, wrong)
			}
		})
	}
}

// answersTwice starts a receiver that reads one request of each connection and answers it twice.
func answersTwice(t *testing.T, secure bool, read func(*http.Request)) (string, *outbound.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme, cfg := "http", outbound.Config{AllowPlainHTTP: true}
	if secure {
		model := httptest.NewTLSServer(nil)
		t.Cleanup(model.Close)
		roots := x509.NewCertPool()
		roots.AddCert(model.Certificate())
		scheme, cfg = "https", outbound.Config{AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots}
		listener = tls.NewListener(listener, &tls.Config{Certificates: model.TLS.Certificates})
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				read(r)
				const answer = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
				_, _ = io.WriteString(c, answer+answer)
				_, _ = c.Read(make([]byte, 1)) // it never reads the next request
			}()
		}
	}()
	return scheme + "://" + listener.Addr().String(), outbound.New(cfg)
}

// BenchmarkSend shows requests per second to a receiver on loopback, beside a
// bare http.Client that posts the same bytes: the ceiling of this machine.
func BenchmarkSend(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer sink.Close()
	as := newTokenServer(b)
	client := outbound.New(outbound.Config{AllowPlainHTTP: true})
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	body := note{}.AppendJSON(nil)

	send := func(b *testing.B, target Target) {
		sender := NewSender(Config{Client: client})
		if target.Token != nil {
			sender.tokens = newSender(b, nil, as.Server).tokens
		}
		inParallel(b, func() bool { return sender.Send(b.Context(), target, message()).Status == 202 })
	}
	b.Run("send", func(b *testing.B) { send(b, Target{EndpointID: "e", URL: sink.URL}) })
	b.Run("send with token", func(b *testing.B) { send(b, Target{EndpointID: "e", URL: sink.URL, Token: as.config(AuthBasic)}) })
	b.Run("bare client", func(b *testing.B) {
		inParallel(b, func() bool {
			resp, err := bare.Post(sink.URL, "application/cloudevents+json", bytes.NewReader(body))
			if err != nil {
				return false
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close() == nil && resp.StatusCode == 202
		})
	})
}

func inParallel(b *testing.B, once func() bool) {
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !once() {
				b.Error("not delivered")
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

func BenchmarkVerdict(b *testing.B) {
	b.ReportAllocs()
	o, f := Outcome{Status: 202}, facts()
	for b.Loop() {
		if Verdict(o, f).Next != NextDelivered {
			b.Fatal("not delivered")
		}
	}
}
