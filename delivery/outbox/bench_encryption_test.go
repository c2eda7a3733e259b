package outbox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

// encryptRound is the number of events of a round of BenchmarkEncryption, which 64 producers share: a quarter of a second, so that what else the
// machine does mostly lasts longer and hits both rounds of a pair.
const encryptRound = 64 * 20

// encryptCost is the largest part of the throughput that encryption may take. With fewer than encryptRounds rounds a busy machine decides: half of
// the pairs are a tenth off on one whose processors others use too.
const (
	encryptCost   = 0.10
	encryptRounds = 61
)

// BenchmarkEncryption is BenchmarkEndToEnd with data in the clear and encrypted, in rounds that alternate, so that what else the machine does
// hits both. share is the throughput with encryption by that without, the median of the rounds, between its quartiles; it fails when that costs more
// than encryptCost. -µs is the processor time an event, which a busy machine changes less.
func BenchmarkEncryption(b *testing.B) {
	for _, kind := range []store.Dialect{store.SQLite, store.Postgres} {
		b.Run(string(kind), func(b *testing.B) {
			var arrived atomic.Int64
			all := make(chan struct{})
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusAccepted)
				if arrived.Add(1)%encryptRound == 0 {
					all <- struct{}{}
				}
			}))
			defer receiver.Close()
			var sides [2]struct {
				eng   *Engine
				own   store.Partner
				rates []float64
				costs []float64 // processor time, µs an event
			}
			for i := range sides {
				db := storetest.Both()[string(kind)](b)
				if i == 1 {
					storetest.Encrypt(db)
				}
				sides[i].eng, sides[i].own = benchEngine(b, db, receiver.URL)
				defer func() { _ = sides[i].eng.Stop(context.Background()) }()
			}
			for round := 0; round <= b.N; round++ { // the first is to warm up
				for i := range sides {
					side := &sides[(i+round)%2]
					began, used := time.Now(), cpuTime(b)
					for range 64 {
						go func() {
							for range encryptRound / 64 {
								accept(b, side.eng, side.own)
							}
						}()
					}
					<-all
					if round > 0 {
						side.rates = append(side.rates, encryptRound/time.Since(began).Seconds())
						side.costs = append(side.costs, float64((cpuTime(b)-used).Microseconds())/encryptRound)
					}
				}
			}
			share := sharesOf(sides[0].rates, sides[1].rates)
			b.ReportMetric(share.low, "share-low")
			b.ReportMetric(share.median, "share")
			b.ReportMetric(share.high, "share-high")
			b.ReportMetric(quantile(sides[0].rates, 0.5), "plain/s")
			b.ReportMetric(quantile(sides[1].rates, 0.5), "encrypted/s")
			b.ReportMetric(quantile(sides[0].costs, 0.5), "plain-µs")
			b.ReportMetric(quantile(sides[1].costs, 0.5), "encrypted-µs")
			if !share.holds() {
				b.Errorf("encryption leaves %.3f of the throughput, between %.3f and %.3f in half of %d rounds; %.2f is the least", share.median, share.low, share.high, share.rounds, 1-encryptCost)
			}
		})
	}
}

// shares are the throughputs of rounds with encryption, each by that of the round without beside it: their median and quartiles.
type shares struct {
	low, median, high float64
	rounds            int
}

func sharesOf(plain, encrypted []float64) shares {
	pairs := make([]float64, len(plain))
	for i := range pairs {
		pairs[i] = encrypted[i] / plain[i]
	}
	return shares{quantile(pairs, 0.25), quantile(pairs, 0.5), quantile(pairs, 0.75), len(pairs)}
}

// holds reports whether encryption costs no more than it may; too few rounds cannot tell, and hold.
func (s shares) holds() bool { return s.rounds < encryptRounds || s.median >= 1-encryptCost }

// quantile returns the number below which a part of the list lies.
func quantile(list []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(part*float64(len(sorted)))]
}

// The median of pairs decides, and not one slow round, nor fewer rounds than can tell.
func TestSharesHold(t *testing.T) {
	t.Parallel()
	rounds := func(n int, share float64, slow ...float64) (plain, encrypted []float64) {
		for i := range n {
			speed := 1000 * float64(1+i%3) // of the machine, which hits both sides of a pair
			plain, encrypted = append(plain, speed), append(encrypted, speed*share)
		}
		copy(encrypted, slow)
		return plain, encrypted
	}
	for _, tt := range []struct {
		n     int
		share float64
		slow  []float64
		holds bool
	}{
		{encryptRounds, 0.91, nil, true},
		{encryptRounds, 0.89, nil, false},
		{encryptRounds, 0.95, []float64{1, 1, 1}, true},
		{encryptRounds, 0.85, []float64{9e9, 9e9, 9e9}, false},
		{encryptRounds - 1, 0.5, nil, true},
	} {
		s := sharesOf(rounds(tt.n, tt.share, tt.slow...))
		if s.holds() != tt.holds || s.rounds != tt.n || s.low > s.median || s.median > s.high {
			t.Errorf("%+v: %+v", tt, s)
		}
	}
}
