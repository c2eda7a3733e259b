package trial

import (
	"fmt"
	"sync"

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
