package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogramQuantiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var h, half histogram
	var all []time.Duration
	for i := range 20_000 {
		d := time.Duration(random.Int64N(1<<(4+i%24))) * time.Microsecond
		all = append(all, d)
		if i%2 == 0 {
			h.add(d)
		} else {
			half.add(d)
		}
	}
	h.merge(&half)
	slices.Sort(all)
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		got := h.quantile(q)
		if got < want || got > want+want/parts+time.Microsecond {
			t.Errorf("quantile %g is %s, want %s and at most 1/%d more", q, got, want, parts)
		}
	}
}

func TestHistogramEdges(t *testing.T) {
	t.Parallel()
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	h.add(-time.Second)
	if got := h.quantile(1); got != 0 {
		t.Errorf("a duration below zero counts as %s", got)
	}
	h.add(1<<63 - 1)
	if got := h.quantile(1); got < 290*365*24*time.Hour {
		t.Errorf("the longest duration counts as %s", got)
	}
}

// FuzzPlace checks that a number lies within what its place stands for.
func FuzzPlace(f *testing.F) {
	for _, n := range []uint64{0, 1, 63, 64, 127, 128, 1 << 40, 1<<64 - 1} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n uint64) {
		i := place(n)
		if n > highest(i) || i > 0 && n <= highest(i-1) {
			t.Errorf("%d is counted at %d, which ends at %d", n, i, highest(i))
		}
	})
}
