package trial

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"schakel/server/demo"
	"schakel/store"
)

// Ledger keeps which events were answered 202.
type Ledger struct {
	mu      sync.Mutex
	acked   map[string]bool
	answers map[int]int
}

// NewLedger makes an empty one.
func NewLedger() *Ledger { return &Ledger{acked: map[string]bool{}, answers: map[int]int{}} }

// Add notes that the events with these ids were answered 202.
func (l *Ledger) Add(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.acked[id] = true
	}
}

// Len counts the events that were answered 202.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// Answers returns how often each status was given; 0 is no answer.
func (l *Ledger) Answers() map[int]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[int]int, len(l.answers))
	for status, n := range l.answers {
		out[status] = n
	}
	return out
}

func (l *Ledger) answered(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[status]++
}

// Account counts the acknowledged events of a ledger by where they are.
type Account struct {
	Events, Arrived, Parked, Lost int
	Missing                       []string // some of the lost
}

// String is a line for a log.
func (a Account) String() string {
	return fmt.Sprintf("%d events answered 202; %d deliveries arrived, %d lie in a queue, %d lost", a.Events, a.Arrived, a.Parked, a.Lost)
}

// Compare looks for each acknowledged event at each receiver that must have it, as
// paths by subscription: it was taken, or it lies in a queue of the program.
func (l *Ledger) Compare(t T, s *Program, r *Receiver, paths map[string]string) Account {
	t.Helper()
	queues := Parked(t, s)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := Account{Events: len(l.acked)}
	for sub, path := range paths {
		for id := range l.acked {
			_, taken := r.Got(path, id)
			switch {
			case taken:
				a.Arrived++
			case queues[sub][id]:
				a.Parked++
			default:
				if a.Lost++; a.Lost <= 10 {
					a.Missing = append(a.Missing, id+" for "+path)
				}
			}
		}
	}
	return a
}

// OpenDeliveries counts the deliveries that are still to be sent.
func OpenDeliveries(t T, s *Program) int {
	t.Helper()
	return s.CountDeliveries(t, store.DeliveryPending, store.DeliveryRetrying)
}

// CountDeliveries counts the deliveries in some states.
func (s *Program) CountDeliveries(t T, statuses ...string) (n int) {
	t.Helper()
	s.Open(t, func(db *store.DB) {
		n = Must1[int](t)(db.CountDeliveries(t.Context(), store.DeliveryFilter{Statuses: statuses}))
	})
	return n
}

// Drain waits until nothing is left to be sent. It fails when nothing was settled for as long as [Patience], however long the
// whole takes: an endpoint whose circuit opens is left alone for half a minute at a time.
func (s *Program) Drain(t T) {
	t.Helper()
	least := OpenDeliveries(t, s)
	for least > 0 {
		Eventually(t, "more deliveries are settled", func() (bool, string) {
			n := OpenDeliveries(t, s)
			fewer := n < least
			least = min(n, least)
			return fewer, fmt.Sprintf("%d deliveries are open", n)
		})
	}
}

// Parked lists which events lie in the queues, by subscription and the id of the
// CloudEvent.
func Parked(t T, s *Program) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	s.Open(t, func(db *store.DB) {
		for page := 1; ; page++ {
			rows, _, err := db.Deliveries(t.Context(), store.DeliveryFilter{
				Statuses: []string{store.DeliveryHeld, store.DeliveryDead}, Page: store.Page{Number: page, Size: 1000},
			})
			Must(t, err)
			for _, d := range rows {
				event := Must1[store.Event](t)(db.Event(t.Context(), d.EventID))
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

// Publisher sends numbered events of a few subjects of its own until told to stop,
// singly and in batches. A request without an answer that settles it is repeated
// with its key, as the rules ask of a sender.
type Publisher struct {
	Program *Program
	Ledger  *Ledger
	Name    string // begins its subjects, so that no other has them
	Type    string // of its events

	seq     [4]int
	pending *request // sent, and not answered
}

type request struct {
	header map[string]string
	body   string
	ids    []string
}

// Run publishes until done is closed.
func (p *Publisher) Run(t T, token string, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		if !p.step(t, token) {
			Pause(5 * time.Millisecond) // so that a program that cannot answer is not overrun
		}
		if t.Failed() {
			return
		}
	}
}

// step sends one request, and reports whether it was taken.
func (p *Publisher) step(t T, token string) bool {
	if p.pending == nil {
		p.pending = p.next()
	}
	answer, err := p.Program.Try(http.MethodPost, "/events/v1/events", token, p.pending.header, p.pending.body)
	p.Ledger.answered(answer.Status)
	switch {
	case err != nil:
		return false // the program is gone, or its answer is
	case answer.Status == http.StatusAccepted:
		p.Ledger.Add(p.pending.ids)
		p.pending = nil
		return true
	case answer.Status == http.StatusConflict || answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusTooManyRequests:
		return false
	}
	t.Errorf("publish: %d %s", answer.Status, answer.Body)
	return false
}

// next makes a request of one event, or now and then of five.
func (p *Publisher) next() *request {
	if rand.IntN(4) > 0 {
		id, body := p.event()
		return &request{EventHeader("application/cloudevents+json"), body, []string{id}}
	}
	var ids, bodies []string
	for range 5 {
		id, body := p.event()
		ids, bodies = append(ids, id), append(bodies, body)
	}
	return &request{EventHeader("application/cloudevents-batch+json"), "[" + strings.Join(bodies, ",") + "]", ids}
}

// event makes the next event of one of the publisher's subjects.
func (p *Publisher) event() (id, body string) {
	n := rand.IntN(len(p.seq))
	p.seq[n]++
	return NewNumbered(p.Program.Own, p.Type, fmt.Sprint(p.Name, "-", n), p.seq[n])
}

// NewNumbered makes a CloudEvent of an organisation with a subject and a number
// from 1 on, and gives its id. A receiver notes when numbers come out of order.
func NewNumbered(own demo.Organisation, eventType, subject string, seq int) (id, body string) {
	id = uuid.NewString()
	return id, fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":%q,"type":%q,"subject":%q,"datacontenttype":"application/json","data":{"seq":%d,"text":%q}}`,
		id, own.Source(), eventType, subject, seq, strings.Repeat("x", 200))
}
