package e2e

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"schakel/server/demo"
)

// rounds is how often the process is killed.
const rounds = 50

// TestKillUnderLoad kills the process fifty times while publishers send and the
// receiver fails at times. Afterwards every event that was answered 202 was
// delivered to each approved subscription, or lies in a queue for it (guarantee
// G1); and nothing reached a subscription that is not approved (G2).
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	r := newReceiver(t, p)
	s := newProgram(t, p, demo.OwnA(), sqlitePath(t), "--log-level", "warn")
	chain := setUpKillChain(t, s, r)
	r.behave(flaky)
	book := &ledger{acked: map[string]bool{}}
	publishers := make([]*publisher, 4)
	for i := range publishers {
		publishers[i] = &publisher{s: s, ledger: book}
	}
	for range rounds {
		s.start(t)
		round(t, s, publishers, s.token(t, chain.publisher, "events.publish"))
		if t.Failed() {
			return
		}
	}
	r.behave(flaky)
	s.start(t)
	eventually(t, "all deliveries are settled", func() (bool, string) {
		n := openDeliveries(t, s)
		return n == 0, strconv.Itoa(n) + " deliveries are open"
	})
	s.stop(t)
	chain.check(t, s, r, book)
}

// round lets the publishers send for a moment and kills the process meanwhile.
func round(t *testing.T, s *program, publishers []*publisher, token string) {
	t.Helper()
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, p := range publishers {
		all.Go(func() { p.run(t, token, done) })
	}
	pause(time.Duration(50+rand.IntN(400)) * time.Millisecond)
	s.kill(t)
	close(done)
	all.Wait()
}

// flaky fails for a third of the tries, in ways that end differently: some are
// tried again until they are dead, some are refused for good.
func flaky(path, id string) int {
	switch n := rand.IntN(12); {
	case path == "/steady":
		return http.StatusAccepted
	case n < 3:
		return http.StatusInternalServerError
	case n == 3:
		return http.StatusBadRequest
	}
	return http.StatusAccepted
}

// killChain is who gets events, and who must not.
type killChain struct {
	publisher demo.Credentials
	approved  map[string]string // path by subscription
	forbidden []string          // paths
}

func setUpKillChain(t *testing.T, s *program, r *receiver) killChain {
	t.Helper()
	chain := killChain{approved: map[string]string{}, forbidden: []string{"/requested", "/suspended", "/rejected", "/gone"}}
	s.setUp(t, func(c *demo.Chain) {
		ctx := t.Context()
		must(t, demo.PublishContracts(ctx, c.Services, c.Admin))
		chain.publisher = must1[demo.Credentials](t)(c.Publisher(ctx, c.Admin, s.own))
		_, actor, err := c.Approved(ctx, organisation("North", "34567890"))
		must(t, err)
		for _, path := range []string{"/steady", "/flaky"} {
			sub, err := c.Subscribe(ctx, actor, r.target(path, path), demo.TypeEnrolled)
			must(t, err)
			chain.approved[sub.ID] = path
		}
		endpoint, err := c.Endpoint(ctx, actor, r.target("requested", "/requested"))
		must(t, err)
		_, err = c.Request(ctx, actor, endpoint.ID, demo.TypeEnrolled)
		must(t, err)
		suspended, err := c.Subscribe(ctx, actor, r.target("suspended", "/suspended"), demo.TypeEnrolled)
		must(t, err)
		must(t, c.Subscriptions.Suspend(ctx, c.Admin, suspended.ID, "A test."))
		endpoint, err = c.Endpoint(ctx, actor, r.target("rejected", "/rejected"))
		must(t, err)
		rejected, err := c.Request(ctx, actor, endpoint.ID, demo.TypeEnrolled)
		must(t, err)
		must(t, c.Subscriptions.Reject(ctx, c.Admin, rejected.ID, "A test."))
		gone, actor, err := c.Approved(ctx, organisation("South", "45678901"))
		must(t, err)
		_, err = c.Subscribe(ctx, actor, r.target("gone", "/gone"), demo.TypeEnrolled)
		must(t, err)
		must(t, c.Partners.Suspend(ctx, c.Admin, gone.ID, "A test."))
	})
	return chain
}

// check compares the ledger with the receivers and the queues.
func (k killChain) check(t *testing.T, s *program, r *receiver, book *ledger) {
	t.Helper()
	queues := parked(t, s)
	delivered, lying, lost := 0, 0, 0
	for sub, path := range k.approved {
		for id := range book.acked {
			_, taken := r.got(path, id)
			switch {
			case taken:
				delivered++
			case queues[sub][id]:
				lying++
			default:
				lost++
				t.Logf("lost: event %s for %s", id, path)
			}
		}
	}
	t.Logf("%d events answered 202; %d deliveries arrived, %d lie in a queue, %d lost", len(book.acked), delivered, lying, lost)
	if lost > 0 || delivered == 0 || lying == 0 || len(book.acked) < rounds {
		t.Errorf("%d lost of %d; %d arrived, %d lie in a queue", lost, len(book.acked), delivered, lying)
	}
	for _, path := range k.forbidden {
		if n := r.offers(path); n > 0 {
			t.Errorf("%d events reached %s, whose subscription is not approved", n, path)
		}
	}
}
