package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/event"
)

// braking asks a brake about a group of so many events every brakeLook, in which so many deliveries end, and tells after
// how long it let the group go.
func braking(e *Engine, b *brake, events int, finished int64) time.Duration {
	began := time.Now()
	group := []*pending{{Submission: Submission{Events: make([]event.Event, events)}}}
	defer b.next()
	for b.holds(e, group, 0) {
		<-time.After(brakeLook)
		e.lanes["ep"].done.Add(finished)
	}
	return time.Since(began)
}

// TestBrake: what goes out briskly holds intake back for a bounded time, a receiver that takes nothing hardly at all.
func TestBrake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{cfg: Config{Now: time.Now, MaxInFlight: 4096, MaxBatch: 512}, submissions: make(chan *pending, 1), lanes: map[string]*lane{"ep": {slots: make(chan struct{}, 64)}}}
		l := e.lanes["ep"]
		var b brake
		want := func(what string, took, want time.Duration) {
			t.Helper()
			if took != want {
				t.Errorf("%s: held for %v, want %v", what, took, want)
			}
		}
		want("little in flight", braking(e, &b, 512, 9), 0)
		l.ready, l.held = true, 64*ahead/2+1
		want("more waits for a full lane", braking(e, &b, 512, brisk), brakeMost)
		l.ready, e.held = false, 4096/crowd
		want("brisk, a large group", braking(e, &b, 512, brisk), brakeMost)
		want("brisk, a small group", braking(e, &b, 10, brisk), 10*time.Second/braked+brakeLook/2)
		rest, still := brakeRest, calmLooks*brakeLook
		for range 9 {
			want("nothing goes out", braking(e, &b, 512, 0), still)
			want("again", braking(e, &b, 512, 0), 0)
			<-time.After(rest)
			rest = min(2*rest, longRest)
		}
		if rest != longRest {
			t.Errorf("the brake rests for %v", rest)
		}
		want("brisk again", braking(e, &b, 512, brisk), brakeMost)
		want("nothing goes out again", braking(e, &b, 512, 0), still)
	})
}
