package pull

import (
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// BenchmarkReceiveAcknowledge receives 100 events and acknowledges them, one consumer at a time.
func BenchmarkReceiveAcknowledge(b *testing.B) {
	for name, open := range storetest.Both() {
		b.Run(name, func(b *testing.B) {
			clock := storetest.NewClock()
			w := newWorld(b, open(b, storetest.WithClock(clock)), clock, nil)
			for b.Loop() {
				b.StopTimer()
				w.publish(MaxEvents)
				b.StartTimer()
				got := w.receive(MaxEvents)
				s, err := w.pull.Acknowledge(b.Context(), w.sub, tokens(got))
				if err != nil || len(s.Succeeded) != MaxEvents {
					b.Fatalf("acknowledged %d, %v", len(s.Succeeded), err)
				}
			}
			b.ReportMetric(float64(b.N*MaxEvents)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkReceiveAmongMany receives and gives back, with little and with much that waits for another subscription of
// the endpoint: what it costs must not depend on that.
func BenchmarkReceiveAmongMany(b *testing.B) {
	for _, waiting := range []int{100, 100_000} {
		b.Run(map[bool]string{true: "few", false: "many"}[waiting == 100], func(b *testing.B) {
			clock := storetest.NewClock()
			w := newWorld(b, storetest.SQLite(b, storetest.WithClock(clock)), clock, nil)
			for range waiting / 500 {
				w.publish(500)
			}
			w.sub = w.subscribe(store.Endpoint{ID: w.sub.EndpointID, PartnerID: w.sub.PartnerID})
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				w.publish(1)
				clock.Advance(time.Millisecond)
				b.StartTimer()
				if _, err := w.pull.Acknowledge(b.Context(), w.sub, tokens(w.receive(1))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
