package outbox

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/event"
	"schakel/delivery/outbound"
	"schakel/delivery/webhook"
	"schakel/store"
	"schakel/store/storetest"
)

// benchEngine is a started engine with an own organisation and, when url is set, one subscribed webhook at it.
func benchEngine(b *testing.B, db *store.DB, url string) (*Engine, store.Partner) {
	b.Helper()
	var own store.Partner
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		own = store.Partner{Own: true, Name: "Own", Status: store.PartnerApproved}
		if err := tx.InsertPartner(b.Context(), &own); err != nil || url == "" {
			return err
		}
		p := store.Partner{Name: "North", Status: store.PartnerApproved}
		if err := tx.InsertPartner(b.Context(), &p); err != nil {
			return err
		}
		e := store.Endpoint{PartnerID: p.ID, Kind: store.EndpointWebhook, URL: url, Status: store.EndpointActive, MaxConcurrency: 64, TimeoutMS: 10000}
		if err := tx.InsertEndpoint(b.Context(), &e); err != nil {
			return err
		}
		return tx.InsertSubscription(b.Context(), &store.Subscription{
			PartnerID: p.ID, EndpointID: e.ID, Status: store.SubscriptionApproved, Types: []string{"nl.voorbeeld.leerling-gewijzigd.v1"},
		})
	})
	must(b, err)
	client := outbound.New(outbound.Config{AllowPlainHTTP: true, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, MaxIdleConnsPerHost: 128})
	eng := New(Config{DB: db, Log: slog.New(slog.DiscardHandler), Transports: map[string]Transport{store.EndpointWebhook: &Webhook{
		Sender: webhook.NewSender(webhook.Config{Client: client}), Schedule: webhook.DefaultSchedule(), Now: time.Now,
	}}})
	must(b, eng.Start(b.Context()))
	return eng, own
}

// benchEvent is an event of about 700 bytes.
func benchEvent(b testing.TB) event.Event {
	b.Helper()
	ev, err := event.ParseJSON(fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"urn:nld:oin:00000001823288444000:systeem:LAS",
		"type":"nl.voorbeeld.leerling-gewijzigd.v1","time":"2026-11-21T13:04:05.123Z","subject":"leerling-4711","datacontenttype":"application/json",
		"data":{"id":"8e03978e-40d5-43e8-bc93-6894a57f9324","text":%q}}`, uuid.NewString(), strings.Repeat("x", 400)), event.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	return ev
}

// BenchmarkAccept is the group commit: what concurrent producers get through to the disk, with idempotency keys.
func BenchmarkAccept(b *testing.B) {
	for _, producers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			eng, own := benchEngine(b, storetest.SQLite(b), "")
			defer func() { _ = eng.Stop(b.Context()) }()
			b.SetParallelism(producers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					accept(b, eng, own)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func accept(b *testing.B, eng *Engine, own store.Partner) {
	s := Submission{ClientID: "cli_bench", PartnerID: own.ID, FromOwn: true, Key: uuid.NewString(), Fingerprint: make([]byte, 32), Events: []event.Event{benchEvent(b)}}
	if _, err := eng.Accept(b.Context(), s); err != nil {
		b.Error(err)
	}
}

// BenchmarkEndToEnd accepts durably and delivers to a webhook on loopback at the same time, in one process, until the
// last event has arrived.
func BenchmarkEndToEnd(b *testing.B) {
	for _, kind := range []store.Dialect{store.SQLite, store.Postgres} {
		b.Run(string(kind), func(b *testing.B) {
			var arrived atomic.Int64
			all := make(chan struct{})
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusAccepted)
				if arrived.Add(1) == int64(b.N) {
					close(all)
				}
			}))
			defer receiver.Close()
			db := storetest.SQLite
			if kind == store.Postgres {
				db = storetest.Postgres
			}
			eng, own := benchEngine(b, db(b), receiver.URL)
			defer func() { _ = eng.Stop(b.Context()) }()
			b.SetParallelism(128)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					accept(b, eng, own)
				}
			})
			accepted := b.Elapsed()
			<-all
			b.ReportMetric(float64(b.N)/accepted.Seconds(), "accepted/s")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delivered/s")
		})
	}
}

// BenchmarkEncodeBatch makes the bodies of batches of 100 from what is stored, one event an operation.
func BenchmarkEncodeBatch(b *testing.B) {
	ev := benchEvent(b)
	members := make([]store.Claimed, 100)
	for i := range members {
		members[i].Event = store.Event{Attributes: ev.Attributes, DataKind: int64(ev.DataKind), Data: ev.Data}
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(members) {
		if body, ok := encode(members); !ok || len(body) < 100 {
			b.Fatal("not encoded")
		}
	}
}

// BenchmarkDrainBatches sends a backlog in batches of 100, one event an operation.
func BenchmarkDrainBatches(b *testing.B) {
	var came atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came.Add(int64(strings.Count(string(body), `"specversion"`)))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	db := storetest.SQLite(b)
	eng, own := benchEngine(b, db, srv.URL)
	setBatches(b, db, eng, store.EndpointPaused)
	for n := 0; n < b.N; n += 100 {
		s := Submission{ClientID: "cli", PartnerID: own.ID, FromOwn: true}
		for range min(100, b.N-n) {
			s.Events = append(s.Events, benchEvent(b))
		}
		if _, err := eng.Accept(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	setBatches(b, db, eng, store.EndpointActive)
	for came.Load() < int64(b.N) {
		<-time.After(time.Millisecond)
	}
	b.StopTimer()
	must(b, eng.Stop(b.Context()))
}

// BenchmarkBatchesThrough takes events in by a hundred and sends them out by a hundred, one event an operation.
func BenchmarkBatchesThrough(b *testing.B) {
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			var came atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				came.Add(n)
				w.WriteHeader(http.StatusAccepted)
			}))
			defer srv.Close()
			db := open(b)
			eng, own := benchEngine(b, db, srv.URL)
			setBatches(b, db, eng, store.EndpointActive)
			all := make([]event.Event, b.N)
			for i := range all {
				all[i] = benchEvent(b)
			}
			before := cpuTime(b)
			b.ResetTimer()
			var producers sync.WaitGroup
			for p := range 8 {
				producers.Go(func() {
					for from := p * 100; from < len(all); from += 800 {
						s := Submission{ClientID: "cli", PartnerID: own.ID, FromOwn: true, Events: all[from:min(from+100, len(all))]}
						if _, err := eng.Accept(b.Context(), s); err != nil {
							b.Error(err)
						}
					}
				})
			}
			producers.Wait()
			for eng.Stats().Delivered < int64(b.N) {
				<-time.After(time.Millisecond)
			}
			b.StopTimer()
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e3, "cpu-µs/event")
			must(b, eng.Stop(b.Context()))
		})
	}
}

// setBatches makes the endpoint of benchEngine take batches of 100, and sets its state.
func setBatches(b *testing.B, db *store.DB, eng *Engine, status string) {
	b.Helper()
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		all, err := tx.Endpoints(b.Context(), "")
		if err != nil {
			return err
		}
		all[0].BatchEvents, all[0].Status = 100, status
		return tx.UpdateEndpoint(b.Context(), &all[0])
	})
	must(b, err)
	eng.Changed()
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBacklog delivers while a number of deliveries waits: what one costs must not depend on how many wait, nor may
// the memory of the process.
func BenchmarkBacklog(b *testing.B) {
	for _, kind := range []store.Dialect{store.SQLite, store.Postgres} {
		for _, waiting := range []int{1000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/waiting=%d", kind, waiting), func(b *testing.B) {
				open := storetest.SQLite
				if kind == store.Postgres {
					open = storetest.Postgres
				}
				benchBacklog(b, open(b), waiting)
			})
		}
	}
}

// benchRound deliveries are delivered before as many are added again.
const benchRound = 500

func benchBacklog(b *testing.B, db *store.DB, waiting int) {
	g := &gate{tokens: make(chan struct{}, benchRound), done: make(chan struct{}, benchRound)}
	f := newBacklog(b, db)
	f.add(b, waiting)
	eng := New(Config{DB: db, Transports: map[string]Transport{store.EndpointWebhook: g}})
	must(b, eng.Start(b.Context()))
	defer func() {
		close(g.tokens)
		_ = eng.Stop(context.WithoutCancel(b.Context()))
	}()
	g.deliver(benchRound) // warm
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := min(left, benchRound)
		g.deliver(n)
		b.StopTimer()
		f.add(b, n)
		eng.ready(map[string]struct{}{f.subscription.EndpointID: {}})
		left -= n
		b.StartTimer()
	}
	b.StopTimer()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MB-heap")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delivered/s")
}

// gate is a transport that lets a set number through.
type gate struct{ tokens, done chan struct{} }

func (g *gate) Send(context.Context, store.Endpoint, store.Claimed) Result {
	if _, ok := <-g.tokens; ok {
		g.done <- struct{}{}
	}
	return Result{Status: store.DeliveryDelivered, Attempt: store.Attempt{StatusCode: 202, StartedAt: store.At(time.Now())}}
}

func (g *gate) deliver(n int) {
	for range n {
		g.tokens <- struct{}{}
	}
	for range n {
		<-g.done
	}
}

// backlog adds deliveries that wait for one endpoint.
type backlog struct {
	db           *store.DB
	subscription store.Subscription
	events       []string
	key          func(n int) string // the order key of the n-th; nil for none
	added        int
}

func newBacklog(b *testing.B, db *store.DB) *backlog {
	f := &backlog{db: db}
	ev := benchEvent(b)
	err := db.Write(b.Context(), func(tx *store.Tx) error {
		p := store.Partner{Name: "North", Status: store.PartnerApproved}
		if err := tx.InsertPartner(b.Context(), &p); err != nil {
			return err
		}
		e := store.Endpoint{PartnerID: p.ID, Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 64, TimeoutMS: 600_000}
		if err := tx.InsertEndpoint(b.Context(), &e); err != nil {
			return err
		}
		f.subscription = store.Subscription{PartnerID: p.ID, EndpointID: e.ID, Status: store.SubscriptionApproved, Types: []string{ev.Type}}
		if err := tx.InsertSubscription(b.Context(), &f.subscription); err != nil {
			return err
		}
		rows := make([]store.Event, 1000)
		for i := range rows {
			rows[i] = Row(tx, &ev, p.ID, "cli_bench")
			rows[i].CEID = uuid.NewString()
			f.events = append(f.events, rows[i].ID)
		}
		_, err := tx.InsertEvents(b.Context(), rows)
		return err
	})
	must(b, err)
	return f
}

func (f *backlog) add(b *testing.B, n int) {
	b.Helper()
	const step = 5000
	for from := 0; from < n; from += step {
		err := f.db.Write(b.Context(), func(tx *store.Tx) error {
			rows := make([]store.Delivery, min(step, n-from))
			for i := range rows {
				rows[i] = store.Delivery{
					ID: tx.NewID("dlv"), EventID: f.events[i%len(f.events)], SubscriptionID: f.subscription.ID, EndpointID: f.subscription.EndpointID,
					PartnerID: f.subscription.PartnerID, EventType: f.subscription.Types[0], Status: store.DeliveryPending,
					IdempotencyKey: uuid.NewString(), KeyExpiresAt: store.At(tx.Now.Add(time.Hour)), DueAt: tx.Now,
				}
				if f.key != nil {
					rows[i].OrderKey = f.key(f.added + i)
				}
			}
			f.added += len(rows)
			return tx.InsertDeliveries(b.Context(), rows)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
