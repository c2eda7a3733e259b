package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/server/trial"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	l := newLedger(10, func(int) int { return 0 })
	for range 2 {
		if _, ok := l.take(4); !ok {
			t.Fatal("no places")
		}
	}
	if _, ok := l.take(4); ok {
		t.Error("twelve places of ten")
	}
	l.accept(0, 4)
	l.accept(4, 2) // 6 and 7 were never answered
	for _, place := range []int{0, 1, 2, 2, 5, 6, 10} {
		l.receive(place, l.now())
	}
	for name, test := range map[string]struct {
		except func(int) bool
		want   verdict
	}{
		"all":    {nil, verdict{accepted: 6, delivered: 4, lost: 2, repeats: 1, misdirected: 1}},
		"but 3":  {func(place int) bool { return place == 3 }, verdict{accepted: 5, delivered: 4, lost: 1, repeats: 1, misdirected: 1}},
		"but <4": {func(place int) bool { return place < 4 }, verdict{accepted: 2, delivered: 1, lost: 1, repeats: 1, misdirected: 1}},
	} {
		got := l.judge(test.except)
		if got.latency.total != uint64(got.delivered) {
			t.Errorf("%s: %d durations of %d deliveries", name, got.latency.total, got.delivered)
		}
		got.latency = histogram{}
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// TestLossFailsTheRun: what is missing, or was never accepted, is no mere figure.
func TestLossFailsTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verdict verdict
		said    string
	}{
		"all there":     {verdict{accepted: 5, delivered: 5, repeats: 2}, ""},
		"one lost":      {verdict{accepted: 5, delivered: 4, lost: 1}, "1 of 5 events that were answered 202 did not arrive"},
		"at a stranger": {verdict{accepted: 5, delivered: 5, misdirected: 1}, "1 events arrived at an endpoint they are not for"},
		"none accepted": {verdict{}, "no event was accepted"},
	} {
		var out bytes.Buffer
		err := try(t.Context(), &out, t.TempDir(), func(b trial.T) {
			(&result{Name: name}).judge(&stage{T: b}, test.verdict)
		})
		if errors.Is(err, errFailed) != (test.said != "") || !strings.Contains(out.String(), test.said) {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}

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
