package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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

// backlogPatience bounds, in times --seconds, how long a backlog is watched.
const backlogPatience = 20

// backlog has many events wait for endpoint 0, which is closed, and opens it while events for endpoint 1 are published.
// Neither may starve: one line is the backlog that leaves, the other what is published meanwhile.
func backlog(s *stage) []result {
	waiting := s.newLedger(0, func(int) int { return 0 })
	fill := s.newFeed(0, waiting, s.Batch)
	fill.most = s.backlogSize()
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

// backlogSize is the number of events that wait.
func (s *stage) backlogSize() int { return cmp.Or(s.plan.waiting, s.Backlog) }

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

// Of the scenario with an endpoint that never answers: how many endpoints there are, which one it is, and how many
// events a second are published for all together.
const (
	holeEndpoints = 10
	hole          = holeEndpoints - 1
	holeRate      = 2000
)

// blackHole publishes for ten endpoints, first while all answer, then while one takes requests and never answers. The
// others must hardly notice.
func blackHole(s *stage) []result {
	toHole := func(place int) bool { return place%holeEndpoints == hole }
	healthy := s.tenEndpoints(0, nil, "10 endpoints, all answer")
	s.receiver.holes[hole].Store(true)
	r := s.tenEndpoints(1, toHole, "10 endpoints, one never answers: the other 9")
	r.Observations = fmt.Sprintf("p99 is %.1f times what it was when all answered", r.P99/max(healthy.P99, 0.001))
	return []result{healthy, r}
}

// tenEndpoints is one half of the scenario; except names the events that are not to arrive.
func (s *stage) tenEndpoints(n int, except func(place int) bool, name string) result {
	l := s.newLedger(n, nil)
	f := s.newFeed(n, l, 1)
	f.every = time.Second / holeRate
	sent := s.send(f, s.Seconds)
	judge := func() verdict { return l.judge(except) }
	sent.drained = s.drain(func() int { return judge().lost })
	sent.used = s.measure().since(sent.before)
	v := judge()
	if stuck := int(l.acceptances.Load()) - v.accepted; except != nil {
		s.kept(stuck)
	}
	r := sent.result(s, name)
	r.Waiting = 0 // those for the endpoint that does not answer
	r.judge(s, v)
	return r
}

// kept checks that the deliveries that could not arrive are all still known.
func (s *stage) kept(want int) {
	trial.Eventually(s, fmt.Sprintf("%d deliveries are kept for the endpoint that does not answer", want), func() (bool, string) {
		_, page, err := trial.Get(http.DefaultClient, s.nodes[0].Admin+"/metrics")
		if err != nil {
			return false, err.Error()
		}
		got := openDeliveries(page)
		return got == want, strconv.Itoa(got) + " are kept"
	})
}

// openDeliveries adds up the deliveries of all states that are not final, from a page of metrics.
func openDeliveries(page string) (sum int) {
	lines := bufio.NewScanner(strings.NewReader(page))
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "schakel_deliveries{") {
			continue
		}
		if _, value, ok := strings.Cut(lines.Text(), "} "); ok {
			n, _ := strconv.ParseFloat(value, 64)
			sum += int(n)
		}
	}
	return sum
}
