package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/event"
)

// braking polls a throttle about a group of so many events, while so many deliveries end, and returns after how long it let
// the group go.
func braking(e *Engine, b *throttle, events int, finished int64) time.Duration {
	began := time.Now()
	group := []*pending{{Submission: Submission{Events: make([]event.Event, events)}}}
	defer b.next()
	for b.holds(e, group, 0) {
		<-time.After(throttlePoll)
		e.queues["ep"].done.Add(finished)
	}
	return time.Since(began)
}

// TestBrake: what goes out briskly holds intake back for a bounded time, a receiver that takes nothing hardly at all.
func TestBrake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{cfg: Config{Now: time.Now, MaxInFlight: 4096, MaxBatch: 512}, submissions: make(chan *pending, 1), queues: map[string]*endpointQueue{"ep": {slots: make(chan struct{}, 64)}}}
		q := e.queues["ep"]
		var b throttle
		want := func(what string, took, want time.Duration) {
			t.Helper()
			if took != want {
				t.Errorf("%s: held for %v, want %v", what, took, want)
			}
		}
		want("little in flight", braking(e, &b, 512, 9), 0)
		q.ready, q.held = true, 64*claimAhead/2+1
		want("more waits for a full lane", braking(e, &b, 512, brisk), throttleMost)
		q.ready, e.held = false, 4096/crowdedShare
		want("brisk, a large group", braking(e, &b, 512, brisk), throttleMost)
		want("brisk, a small group", braking(e, &b, 10, brisk), 10*time.Second/throttleFloor+throttlePoll/2)
		rest, still := shortestOff, idlePolls*throttlePoll
		for range 9 {
			want("nothing goes out", braking(e, &b, 512, 0), still)
			want("again", braking(e, &b, 512, 0), 0)
			<-time.After(rest)
			rest = min(2*rest, longestOff)
		}
		if rest != longestOff {
			t.Errorf("the brake rests for %v", rest)
		}
		want("brisk again", braking(e, &b, 512, brisk), throttleMost)
		want("nothing goes out again", braking(e, &b, 512, 0), still)
	})
}
