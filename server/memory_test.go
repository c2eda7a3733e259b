package main

import "testing"

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0:        usualPercent,
		1 << 20:  maxPercent,
		4 << 20:  maxPercent,
		6 << 20:  200,
		8 << 20:  125,
		12 << 20: 100,
		1 << 30:  usualPercent,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes live: %d%%, want %d%%", live, got, want)
		}
	}
}
