package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

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
