package e2e

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"schakel/server/demo"
	"schakel/store"
)

// ledger keeps which events were answered 202.
type ledger struct {
	mu    sync.Mutex
	acked map[string]bool
}

func (l *ledger) add(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.acked[id] = true
	}
}

// publisher sends events until told to stop, singly and in batches. A request
// without an answer is repeated with its key after the next start, as the rules
// ask of a sender.
type publisher struct {
	s       *program
	ledger  *ledger
	pending *request // sent, and not answered
}

type request struct {
	header map[string]string
	body   string
	ids    []string
}

func newRequest(own demo.Organisation) *request {
	id, body := newEvent(own, demo.TypeEnrolled)
	if rand.IntN(4) > 0 {
		return &request{eventHeader("application/cloudevents+json"), body, []string{id}}
	}
	ids, bodies := []string{id}, []string{body}
	for range 4 {
		id, body := newEvent(own, demo.TypeEnrolled)
		ids, bodies = append(ids, id), append(bodies, body)
	}
	return &request{eventHeader("application/cloudevents-batch+json"), "[" + strings.Join(bodies, ",") + "]", ids}
}

// run publishes until done is closed.
func (p *publisher) run(t *testing.T, token string, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		if p.pending == nil {
			p.pending = newRequest(p.s.own)
		}
		answer, err := p.s.try(http.MethodPost, "/events/v1/events", token, p.pending.header, p.pending.body)
		switch {
		case err != nil: // the process is gone
			return
		case answer.status == http.StatusAccepted:
			p.ledger.add(p.pending.ids)
			p.pending = nil
		case answer.status != http.StatusConflict && answer.status != http.StatusServiceUnavailable:
			t.Errorf("publish: %d %s", answer.status, answer.body)
			return
		}
	}
}

// open counts the deliveries that are still to be sent.
func openDeliveries(t *testing.T, s *program) int {
	t.Helper()
	n := 0
	s.open(t, func(db *store.DB) {
		n = must1[int](t)(db.CountDeliveries(t.Context(), store.DeliveryFilter{
			Statuses: []string{store.DeliveryPending, store.DeliveryRetrying},
		}))
	})
	return n
}

// parked lists which events lie in the queues, by subscription.
func parked(t *testing.T, s *program) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	s.open(t, func(db *store.DB) {
		for page := 1; ; page++ {
			rows, _, err := db.Deliveries(t.Context(), store.DeliveryFilter{
				Statuses: []string{store.DeliveryHeld, store.DeliveryDead}, Page: store.Page{Number: page, Size: 1000},
			})
			must(t, err)
			for _, d := range rows {
				event := must1[store.Event](t)(db.Event(t.Context(), d.EventID))
				if out[d.SubscriptionID] == nil {
					out[d.SubscriptionID] = map[string]bool{}
				}
				out[d.SubscriptionID][event.CEID] = true
			}
			if len(rows) < 1000 {
				return
			}
		}
	})
	return out
}
