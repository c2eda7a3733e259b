package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"schakel/store"
	"schakel/store/storetest"
)

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
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := newChain(t, db)
		e := New(c.eng.cfg)
		e.intake(db)(ended())
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
