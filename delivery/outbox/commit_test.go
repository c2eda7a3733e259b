package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"schakel/delivery/event"
	"schakel/store"
	"schakel/store/storetest"
)

// TestWhatTheDatabaseRefusesFailsAlone commits a submission that PostgreSQL cannot index in one group with others.
func TestWhatTheDatabaseRefusesFailsAlone(t *testing.T) { // guarantee G1
	t.Parallel()
	c := newChain(t, storetest.Postgres(t))
	c.partner("North", "nl.a")
	c.eng.stop[0]() // the test commits by hand
	c.eng.stop[0] = func() {}
	group := make([]*pending, 3)
	for i := range group {
		s := c.submission(c.own.ID, true, "nl.a", "event"+string(rune('1'+i)))
		group[i] = &pending{Submission: s, done: make(chan struct{})}
	}
	group[1].Events[0].ID = noise(8000)
	c.eng.commit(t.Context(), group)
	if err := group[1].err; !errors.Is(err, ErrUnavailable) {
		t.Errorf("the one that is refused got %v", err)
	}
	for _, i := range []int{0, 2} {
		if err := group[i].err; err != nil {
			t.Fatalf("submission %d: %v", i, err)
		}
		c.until(group[i].receipt.Events[0].EventID, store.DeliveryDelivered)
	}
}

// noise is text that cannot be compressed.
func noise(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('!' + rand.IntN(90)))
	}
	return b.String()
}

// TestLongOrderKeysAreHashed gives a subject that an index of PostgreSQL cannot hold.
func TestLongOrderKeysAreHashed(t *testing.T) { // guarantee G5
	eachChain(t, func(t *testing.T, c *chain) {
		c.ordered(c.partner("North", "nl.a"), "subject")
		subject := noise(9000)
		first, second := c.acceptSubject("1", subject), c.acceptSubject("2", subject)
		c.until(second.EventID, store.DeliveryDelivered)
		c.until(first.EventID, store.DeliveryDelivered)
	})
}

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

// TestLinger plays a writer to which rows come at a pace, and counts its transactions and the time that each waited.
func TestLinger(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pace    time.Duration // between two rows
		answers bool          // whether a row only comes after the one before it was written
		want    int           // rows in a transaction, at least
		most    time.Duration // that the transactions waited, on average
	}{
		"few":                     {pace: 20 * time.Millisecond, want: 1},
		"one after another":       {pace: time.Millisecond, answers: true, want: 1, most: lingerTime / 5},
		"1,000 a second":          {pace: time.Millisecond, want: 3, most: lingerTime},
		"more than one writes":    {pace: 20 * time.Microsecond, want: lingerTo, most: lingerTime},
		"fewer than make it wait": {pace: time.Second / (lingerRate - 100), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rows := make(chan int, 4096)
				done := make(chan bool)
				go func() {
					defer close(rows)
					for i := range 2000 {
						<-time.After(tt.pace)
						if rows <- i; tt.answers {
							<-done
						}
					}
				}()
				var l linger
				written, transactions := 0, 0
				var waited time.Duration
				for range rows {
					began := time.Now()
					l.wait(t.Context(), func() int { return 1 + len(rows) })
					waited += time.Since(began)
					n := 1
					for len(rows) > 0 {
						<-rows
						n++
					}
					l.wrote(time.Now(), n)
					<-time.After(500 * time.Microsecond) // for the disk
					written, transactions = written+n, transactions+1
					if tt.answers {
						done <- true
					}
				}
				if written != 2000 || written/transactions < tt.want {
					t.Errorf("%d rows in %d transactions, want %d in each", written, transactions, tt.want)
				}
				if each := waited / time.Duration(transactions); each > tt.most {
					t.Errorf("a transaction waited for %s, want at most %s", each, tt.most)
				}
			})
		})
	}
	t.Run("it stops", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			began := time.Now()
			l := linger{rate: 2 * lingerRate}
			if l.wait(ctx, func() int { return 1 }); time.Since(began) > 0 {
				t.Errorf("waited for %s", time.Since(began))
			}
		})
	})
}

// An engine that stops while a receiver hangs gives the attempt back in time for the parts that stop after it: the stop succeeds,
// and the event goes again under the same key.
//
// Rules: EDU-09, IDEM-11.
func TestStopWhileAReceiverHangs(t *testing.T) { // guarantee G1
	t.Parallel()
	for _, batches := range []int64{0, 10} {
		storetest.Each(t, func(t *testing.T, db *store.DB) {
			const events = 30
			c, b, s := busyChain(t, db, 2, 0)
			c.changeEndpoint(s.EndpointID, func(e *store.Endpoint) { e.BatchEvents = batches })
			c.paused(s, func() { c.accept("nl.a", numbers(events)...) })
			hanging := []string{b.next(t).key, b.next(t).key}
			ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second) // of which a busy machine needs more
			defer cancel()
			if err := c.eng.Stop(ctx); err != nil {
				t.Errorf("stop: %v", err)
			}
			if until, _ := ctx.Deadline(); time.Until(until) < 300*time.Millisecond {
				t.Errorf("%s are left for the parts that stop later", time.Until(until))
			}
			rows, _, err := db.Deliveries(t.Context(), store.DeliveryFilter{Page: store.Page{Number: 1, Size: events}})
			if err != nil || len(rows) != events {
				t.Fatalf("%d deliveries, %v", len(rows), err)
			}
			for _, d := range rows {
				if d.LeaseOwner != "" || d.Status != store.DeliveryPending && d.Status != store.DeliveryRetrying {
					t.Errorf("delivery %s is %s, leased to %q", d.ID, d.Status, d.LeaseOwner)
				}
			}
			b.open()
			c.node(50*time.Millisecond, map[string]Transport{store.EndpointWebhook: b.transport(time.Now)})
			c.waitFor(func() bool { return c.count(store.DeliveryDelivered) == events })
			for _, key := range hanging {
				if b.times(key) != 2 {
					t.Errorf("key %s was sent %d times, want once more after the stop", key, b.times(key))
				}
			}
		})
	}
}

func (b *busy) times(key string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all {
		if c.key == key {
			n++
		}
	}
	return n
}

// A transport that does not heed the end of its context keeps nobody waiting beyond the time of the stop.
func TestStopDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	c := newChain(t, storetest.SQLite(t))
	goOn := make(chan struct{})
	c.rcv.set(func(store.Claimed) Result { <-goOn; return delivered() })
	c.partner("North", "nl.a")
	c.accept("nl.a", "1")
	c.waitFor(func() bool { return len(c.rcv.snapshot()) == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if err := c.eng.Stop(ctx); err != nil {
		t.Error(err)
	}
	close(goOn)
	c.eng.senders.Wait()
}

// answerTime bounds how long a submission may wait for the answer of an engine that has stopped.
const answerTime = 20 * time.Second

// Every submission that waits when the engine stops is answered, however many group commits it would have taken to write them.
func TestAllThatWaitAreAnsweredAtAStop(t *testing.T) { // guarantee G1
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db, func(cfg *Config) { cfg.MaxBatch = 2 })
		ctx, cancel := context.WithTimeout(t.Context(), answerTime)
		defer cancel()
		var waiting sync.WaitGroup
		fresh := New(c.eng.cfg)
		for i := range 20 {
			waiting.Go(func() {
				_, err := fresh.Accept(ctx, c.submission(c.own.ID, true, "nl.a", fmt.Sprint(i)))
				if err != nil && !errors.Is(err, ErrUnavailable) {
					t.Errorf("submission %d: %v", i, err)
				}
			})
		}
		c.waitFor(func() bool { return len(fresh.submissions) == 20 })
		fresh.intake(db)(ended())
		waiting.Wait()
	})
}

// A submission that comes in after the loop that writes events has ended is answered, and so is a request that waits for its key.
func TestSubmissionAfterTheLoopHasEnded(t *testing.T) { // guarantee G1
	eachChain(t, func(t *testing.T, c *chain) {
		e := New(c.eng.cfg)
		e.intake(c.db)(ended())
		ctx, cancel := context.WithTimeout(t.Context(), answerTime)
		defer cancel()
		var waiting sync.WaitGroup
		s := c.submission(c.own.ID, true, "nl.a", "1")
		s.Key, s.Wait = "0e3ba4f9-3a3c-4d8c-8c53-1d1e6a4f9a11", true
		for range 3 {
			waiting.Go(func() {
				if _, err := e.Accept(ctx, s); !errors.Is(err, ErrUnavailable) {
					t.Errorf("the answer is %v, want that the events could not be stored", err)
				}
			})
		}
		waiting.Wait()
	})
}

// Outcomes that wait to be written when the engine stops are all written, also when they take more than one transaction: no event
// is sent again for that.
//
// Rules: EDU-09.
func TestAllOutcomesAreWrittenAtAStop(t *testing.T) { // guarantee G1
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		const events = 20
		c := newChain(t, db, func(cfg *Config) { cfg.MaxBatch = 3 })
		s := c.partner("North", "nl.a")
		c.rcv.set(func(store.Claimed) Result { return Result{Untried: true} })
		c.pause(s.EndpointID)
		c.accept("nl.a", numbers(events)...)
		c.stop()
		c.endpoint(s.EndpointID, store.EndpointActive)
		e := New(c.eng.cfg)
		q, ep := newEndpointQueue(store.Endpoint{}), store.Endpoint{}
		c.write(func(tx *store.Tx) error {
			if _, err := tx.ReleaseHeld(t.Context(), events); err != nil {
				return err
			}
			rows, err := tx.Claim(t.Context(), s.EndpointID, e.node, events, store.At(tx.Now.Add(time.Hour)))
			for i := range rows {
				done := untried(q, &ep, &rows[i])
				r := delivered()
				r.Attempt.StartedAt = tx.Now
				done.result, done.outcome = &r, e.outcome(&rows[i], &r)
				e.outcomes <- done
			}
			return err
		})
		if n := len(e.outcomes); n != events {
			t.Fatalf("%d outcomes wait, want %d", n, events)
		}
		e.completion(db)(ended())
		if n := c.count(store.DeliveryDelivered); n != events {
			t.Errorf("%d of %d outcomes are written", n, events)
		}
	})
}

// intake is the loop that writes events on a database, completion the one that writes outcomes.
func (e *Engine) intake(db *store.DB) func(context.Context) {
	if db.Dialect() == store.SQLite {
		return e.writeLoop
	}
	return e.commitLoop
}

func (e *Engine) completion(db *store.DB) func(context.Context) {
	if db.Dialect() == store.SQLite {
		return e.writeLoop
	}
	return e.completeLoop
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
