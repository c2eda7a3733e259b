package main

import (
	"context"
	"time"

	"schakel/server/trial"
)

// straightSeconds bounds how long a ceiling is measured; it hardly changes.
const straightSeconds = 5

// straight posts to the receiver, or to a relay before it.
func straight(s *stage) []result { return s.flood(min(s.Seconds, straightSeconds)) }

// throughput publishes for a while, as fast as it goes or at a pace, and waits until all has arrived.
func throughput(s *stage) []result { return s.flood(s.Seconds) }

func (s *stage) flood(seconds int) []result {
	l := s.newLedger(0, nil)
	f := s.newFeed(0, l, s.plan.batch)
	if s.plan.rate > 0 {
		f.every = time.Second / time.Duration(s.plan.rate)
	}
	sent := s.send(f, seconds)
	sent.drained = s.drain(func() int { return int(l.acceptances.Load() - l.receipts.Load()) })
	sent.used = s.measure().since(sent.before)
	r := sent.result(s, s.plan.name)
	r.judge(s, l.judge(nil))
	return []result{r}
}

// sending holds the measurements of a feed.
type sending struct {
	feed                *feed
	answers             *histogram
	took, drained       time.Duration // until the last answer, and from there until the last arrival
	accepted, delivered int           // within took
	before, used        usage
}

// send runs a feed for a number of seconds.
func (s *stage) send(f *feed, seconds int) sending {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	return s.sendUntil(ctx, f)
}

func (s *stage) sendUntil(ctx context.Context, f *feed) sending {
	s.Helper()
	sent := sending{feed: f, before: s.measure()}
	began := time.Now()
	var err error
	sent.answers, err = f.run(ctx)
	sent.took = time.Since(began)
	sent.accepted, sent.delivered = int(f.ledger.acceptances.Load()), int(f.ledger.receipts.Load())
	sent.used = s.measure().since(sent.before)
	trial.Must(s, err)
	trial.Must(s, s.Context().Err()) // an interrupt
	return sent
}

// standstill sets how long nothing may arrive until what is missing counts as lost. The program's first retries are
// within it.
const standstill = 45 * time.Second

// drain waits until nothing is missing any more, and returns how long that took.
func (s *stage) drain(missing func() int) time.Duration {
	began := time.Now()
	least, moved := missing(), began
	for least > 0 && time.Since(moved) < standstill && s.Context().Err() == nil {
		rest(s.Context(), 5*time.Millisecond)
		if n := missing(); n < least {
			least, moved = n, time.Now()
		}
	}
	return time.Since(began)
}
