package main

import (
	"math"
	"math/bits"
	"time"
)

// Each power of two of microseconds is cut into this many equal parts, so that a quantile is at most 1/64 too high.
const (
	partBits = 6
	parts    = 1 << partBits
)

// histogram counts durations. It has a fixed size, and adding takes no memory.
type histogram struct {
	counts [(64 - partBits + 1) * parts]uint32
	total  uint64
}

// add counts a duration; below zero is zero.
func (h *histogram) add(d time.Duration) {
	h.counts[place(uint64(max(0, d.Microseconds())))]++
	h.total++
}

// merge adds what another one counted.
func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile is the duration that a share q (0 to 1) of all durations did not pass; 0 when there are none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := min(uint64(q*float64(h.total)), h.total-1)
	for i, n := range h.counts {
		if rank < uint64(n) {
			return time.Duration(min(highest(i), math.MaxInt64/1000)) * time.Microsecond
		}
		rank -= uint64(n)
	}
	return 0
}

// place is the index that counts a number: itself below 64, then 64 places for each power of two.
func place(n uint64) int {
	if n < parts {
		return int(n)
	}
	shift := bits.Len64(n) - partBits - 1
	return shift*parts + int(n>>shift)
}

// highest is the largest number that is counted at an index.
func highest(i int) uint64 {
	if i < 2*parts {
		return uint64(i)
	}
	shift := i/parts - 1
	return (uint64(i-shift*parts)+1)<<shift - 1
}
