package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"schakel/registry/identity"
	"schakel/server/trial"
)

// resend has endpoint 0 reject many events, and resends them all once it takes them, while events for endpoint 1 are published. One
// line names the events to resend, the other those published meanwhile, which must hardly notice.
func resend(s *stage) []result {
	s.receiver.rejects[0].Store(true)
	rejected := s.newLedger(0, func(int) int { return 0 })
	fill := s.newFeed(0, rejected, s.Batch)
	fill.most = s.backlogSize()
	s.sendUntil(s.Context(), fill)
	all := int(rejected.acceptances.Load())
	s.settled("rejected", "held", all, time.Duration(s.Seconds)*time.Second*backlogPatience)
	s.receiver.rejects[0].Store(false)

	fresh := s.newLedger(1, func(int) int { return 1 })
	feed := s.newFeed(1, fresh, s.plan.batch)
	feed.every = time.Second / time.Duration(s.plan.rate)
	ctx, cancel := context.WithTimeout(s.Context(), time.Duration(s.Seconds)*time.Second*backlogPatience)
	defer cancel()
	left := func() int { return all - int(rejected.receipts.Load()) }
	watched := make(chan time.Duration, 1)
	s.nodes[0].Call(s, http.MethodPost, "/events/v1/resends", s.nodes[0].Token(s, s.creds, identity.ScopeEventsConsume),
		map[string]string{"Idempotency-Key": `"00000000-0000-4000-8000-000000000001"`}, map[string]any{"endpointId": s.endpoints[0]}).Want(s, http.StatusAccepted)
	go func() {
		defer cancel() // publishing ends when all is resent
		watched <- s.watch(ctx, rejected, left)
	}()
	sent := s.sendUntil(ctx, feed)
	took := <-watched
	arrived := int(rejected.receipts.Load())
	s.drain(left)
	sent.drained = s.drain(func() int { return int(fresh.acceptances.Load() - fresh.receipts.Load()) })
	results := s.backlogResults(sent, rejected, fresh, float64(arrived)/took.Seconds())
	results[0].Name = fmt.Sprintf("resend of %d", all)
	return results
}

// settled waits until so many deliveries are in a state.
func (s *stage) settled(what, status string, want int, patience time.Duration) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for got := -1; got != want; rest(ctx, 200*time.Millisecond) {
		if ctx.Err() != nil {
			s.Fatalf("%s: %d of %d deliveries are %s after %s", s.plan.name, got, want, what, patience)
		}
		_, page, err := trial.Get(http.DefaultClient, s.nodes[0].Admin+"/metrics")
		trial.Must(s, err)
		got = 0
		for line := range strings.Lines(page) {
			if name, value, ok := strings.Cut(line, "} "); ok && strings.HasPrefix(name, "schakel_deliveries{") && strings.Contains(name, `"`+status+`"`) {
				n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
				got += int(n)
			}
		}
	}
}
