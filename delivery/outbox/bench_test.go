package outbox

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	if err != nil {
		b.Fatal(err)
	}
	client := outbound.New(outbound.Config{AllowPlainHTTP: true, AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, MaxIdleConnsPerHost: 128})
	eng := New(Config{DB: db, Log: slog.New(slog.DiscardHandler), Transports: map[string]Transport{store.EndpointWebhook: &Webhook{
		Sender: webhook.NewSender(webhook.Config{Client: client}), Schedule: webhook.DefaultSchedule(), Now: time.Now,
	}}})
	if err := eng.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
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
	if err := eng.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
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
			if err := eng.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
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
	if err != nil {
		b.Fatal(err)
	}
	eng.Changed()
}

// cpuTime is the processor time the program used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
