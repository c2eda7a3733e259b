package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/server/demo"
	"schakel/store/storetest"
)

// BenchmarkPublishToReceipt is the whole way in one process on loopback: publishers post events of about 700 bytes with a
// token and an Idempotency-Key over HTTP, each is on disk before its 202, and is delivered to a webhook with a token; the
// clock stops when the last one has arrived. BenchmarkRawPost is the ceiling to read it against.
func BenchmarkPublishToReceipt(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			database := "sqlite:" + storetest.SQLitePath(b)
			if kind == "postgres" {
				database = storetest.PostgresURL(b)
			}
			arrived := newCountdown()
			receiver := httptest.NewServer(arrived)
			defer receiver.Close()
			p, source := startBench(b, database, receiver.URL)
			arrived.reset(b.N)
			b.SetParallelism(64)
			before := cpuTime(b)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if status := p.publish(b, source); status != http.StatusAccepted {
						b.Errorf("answer %d", status)
					}
				}
			})
			accepted := b.Elapsed()
			<-arrived.done
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/event")
			b.ReportMetric(float64(b.N)/accepted.Seconds(), "accepted/s")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delivered/s")
		})
	}
}

// cpuTime returns the processor time that the process has used so far, which other work on the machine changes less than the clock.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRawPost posts the same bodies straight to the receiver.
func BenchmarkRawPost(b *testing.B) {
	receiver := httptest.NewServer(newCountdown())
	defer receiver.Close()
	p := &benchPublisher{client: benchClient(), url: receiver.URL}
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p.publish(b, demo.OwnA().Source())
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}

// countdown is a receiver with a token endpoint that tells when all have come.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func newCountdown() *countdown { return &countdown{done: make(chan struct{})} }

func (c *countdown) reset(n int) { c.left.Store(int64(n)) }

func (c *countdown) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"abc","token_type":"Bearer","expires_in":3600}`)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusAccepted)
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// benchPublisher posts events as a client of the own organisation.
type benchPublisher struct {
	client     *http.Client
	url, token string
}

func benchClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
}

func (p *benchPublisher) publish(b *testing.B, source string) int {
	body := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":%q,"time":"2026-11-21T13:04:05Z","subject":"leerling-4711",`+
		`"datacontenttype":"application/json","data":{"id":%q,"notificationType":"CREATE","objectType":"inschrijving","objectId":%q,`+
		`"school":{"id":%q,"name":%q},"created":"2026-11-21T13:04:05Z","isDeleteNotification":false}}`,
		uuid.NewString(), source, demo.TypeEnrolled, uuid.NewString(), uuid.NewString(), uuid.NewString(), strings.Repeat("x", 200))
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/cloudevents+json")
	req.Header.Set("Idempotency-Key", `"`+uuid.NewString()+`"`)
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := p.client.Do(req)
	if err != nil {
		b.Error(err)
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// startBench starts a whole Schakel with one approved subscription to the receiver.
func startBench(b *testing.B, database, receiver string) (*benchPublisher, string) {
	b.Helper()
	paceCollector()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := listener.Addr().String()
	_ = listener.Close()
	cfg := demoConfig(b.TempDir(), "bench", addr, demo.OwnA())
	cfg.Database = database
	p, err := build(b.Context(), cfg, slog.New(slog.DiscardHandler), func(err error) { b.Error(err) })
	if err != nil {
		b.Fatal(err)
	}
	chain := &demo.Chain{Services: p.registry, Password: "correct horse battery staple"}
	creds, err := seedBench(b.Context(), chain, receiver)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.group.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := p.group.Stop(ctx); err != nil {
			b.Error(err)
		}
	})
	pub := &benchPublisher{client: benchClient(), url: p.base + "/events/v1/events"}
	pub.token = fetchToken(b, p.base+"/oauth/token", creds)
	return pub, demo.OwnA().Source()
}

func seedBench(ctx context.Context, chain *demo.Chain, receiver string) (demo.Credentials, error) {
	if err := chain.Administrator(ctx, "Anna de Vries", "anna@voorbeeld.example"); err != nil {
		return demo.Credentials{}, err
	}
	if err := demo.PublishContracts(ctx, chain.Services, chain.Admin); err != nil {
		return demo.Credentials{}, err
	}
	target := demo.Target{Name: "bench", URL: receiver + "/events", TokenURL: receiver + "/token", Credentials: demo.Credentials{ID: "a", Secret: "b"}}
	if _, err := chain.Subscribe(ctx, chain.Admin, target, demo.TypeEnrolled); err != nil {
		return demo.Credentials{}, err
	}
	return chain.Publisher(ctx, chain.Admin, demo.OwnA())
}

func fetchToken(b *testing.B, tokenURL string, creds demo.Credentials) string {
	b.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"events.publish"}}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, tokenURL, bytes.NewBufferString(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	req.SetBasicAuth(creds.ID, creds.Secret)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var resp *http.Response
	for range 100 { // the listener may need a moment
		if resp, err = http.DefaultClient.Do(req); err == nil {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&token); err != nil || token.AccessToken == "" {
		b.Fatalf("no token: %d %v", resp.StatusCode, err)
	}
	return token.AccessToken
}
