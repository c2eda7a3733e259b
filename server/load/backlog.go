package main

import (
	"context"
	"fmt"
	"time"
)

// backlogPatience bounds, in times --seconds, how long a backlog is watched.
const backlogPatience = 20

// backlog has many events wait for endpoint 0, which is closed, and opens it while events for endpoint 1 are published.
// Neither may starve: one line is the backlog that leaves, the other what is published meanwhile.
func backlog(s *stage) []result {
	waiting := s.newLedger(0, func(int) int { return 0 })
	fill := s.newFeed(0, waiting, s.Batch)
	fill.most = s.Backlog
	s.sendUntil(s.Context(), fill)
	if n := waiting.receipts.Load(); n > 0 {
		s.Fatalf("%s: %d events reached an endpoint that was closed", s.plan.name, n)
	}

	fresh := s.newLedger(1, func(int) int { return 1 })
	feed := s.newFeed(1, fresh, s.plan.batch)
	if s.plan.rate > 0 {
		feed.every = time.Second / time.Duration(s.plan.rate)
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Duration(s.Seconds)*time.Second*backlogPatience)
	defer cancel()
	left := func() int { return int(waiting.acceptances.Load() - waiting.receipts.Load()) }
	watched := make(chan time.Duration, 1)
	go func() {
		defer cancel() // publishing ends when the backlog is gone
		watched <- s.watch(ctx, waiting, left)
	}()
	opened := make(chan struct{})
	go func() { defer close(opened); s.pause(0, false) }()
	sent := s.sendUntil(ctx, feed)
	<-opened
	took := <-watched
	drained := int(waiting.receipts.Load())
	s.drain(left)
	sent.drained = s.drain(func() int { return int(fresh.acceptances.Load() - fresh.receipts.Load()) })
	return s.backlogResults(sent, waiting, fresh, float64(drained)/took.Seconds())
}

// watch waits until the backlog is gone, and returns how long that took from its first arrival on.
func (s *stage) watch(ctx context.Context, waiting *ledger, left func() int) time.Duration {
	for waiting.receipts.Load() == 0 && ctx.Err() == nil {
		rest(ctx, time.Millisecond)
	}
	began := time.Now()
	for left() > 0 && ctx.Err() == nil {
		rest(ctx, 5*time.Millisecond)
	}
	return max(time.Since(began), time.Millisecond)
}

func (s *stage) backlogResults(sent sending, waiting, fresh *ledger, rate float64) []result {
	old := result{Name: fmt.Sprintf("backlog of %d, opened", waiting.acceptances.Load()), Delivered: rate}
	v := waiting.judge(nil)
	old.judge(s, v)
	old.P50, old.P99 = 0, 0 // how long it lay there is no property of the program
	r := sent.result(s, s.plan.name)
	r.judge(s, fresh.judge(nil))
	r.Ceiling, r.Relay = "", "" // the machine works for the backlog too
	r.Processor, r.Database, r.Loader = 0, 0, 0
	return []result{old, r}
}
