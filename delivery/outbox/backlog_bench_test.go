package outbox

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/store"
	"schakel/store/storetest"
)

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
	if err := eng.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
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
	if err != nil {
		b.Fatal(err)
	}
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
