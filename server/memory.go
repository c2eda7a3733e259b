package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// smallHeap sets the size to which the heap may grow before it is collected, in bytes, as long as little of it lives. Under load the engine
// makes much garbage that lives for milliseconds; a collection at the usual twice of what lives would come fifty times a
// second. The whole process stays under 100 MB with this.
const smallHeap = 18 << 20

// usualPercent is Go's own pace of collection, maxPercent the slowest: what lives can grow between two collections, and
// the heap grows with it by so much.
const (
	usualPercent = 100
	maxPercent   = 300
)

// paceCollector keeps the heap from being collected more often than smallHeap asks, and lets the garbage collector keep its own
// pace when more lives. It does nothing when the operator set a pace with GOGC or GOMEMLIMIT. It follows every
// collection until the process ends.
func paceCollector() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	pace(usualPercent)
}

// pace sets the percentage, which was last, for the next collection, and itself up to run after that.
func pace(last int) {
	// Setting the percentage stops the world for a moment, so small changes are let be.
	if percent := percentFor(liveHeap()); percent < last*9/10 || percent > last*11/10 {
		debug.SetGCPercent(percent)
		last = percent
	}
	runtime.AddCleanup(new([16]byte), pace, last)
}

// percentFor is the pace that lets a heap of which so many bytes live grow to smallHeap.
func percentFor(live uint64) int {
	if live == 0 {
		return usualPercent
	}
	free := int64(smallHeap) - int64(live)
	return int(min(max(free*100/int64(live), usualPercent), maxPercent))
}

// liveHeap returns the bytes that the last collection found alive.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
