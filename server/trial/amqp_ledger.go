package trial

import (
	"fmt"
	"slices"

	"schakel/store"
)

// AMQPAccount records the result of the business messages of a ledger.
type AMQPAccount struct {
	Messages     int
	Acknowledged int // at their sender, by exactly one AppRec
	Lost         int // their event did not arrive
	Twice        int // they were handled, or became an event, more than once
	AppRecs      int // with no or more than one AppRec, at either side
	Open         int // at their sender something else than acknowledged
	Examples     []string
}

// String is a line for a log.
func (a AMQPAccount) String() string {
	return fmt.Sprintf("%d messages answered 202: %d acknowledged by one AppRec, %d lost, %d handled twice, %d without exactly one AppRec, %d not acknowledged",
		a.Messages, a.Acknowledged, a.Lost, a.Twice, a.AppRecs, a.Open)
}

// Sound reports whether all went as it must.
func (a AMQPAccount) Sound() bool {
	return a.Messages > 0 && a.Acknowledged == a.Messages && len(a.Examples) == 0
}

// amqpBook holds the rows of one program, by MsgId.
type amqpBook struct {
	sent, handled, answered, answers map[string][]string // the states of the rows
	events                           map[string]int      // made of what came in
}

// CompareAMQP holds the MsgIds of a ledger against what both programs keep and what the inbox of the receiving side got.
func (l *Ledger) CompareAMQP(t T, from, to *Program, r *Receiver, path string) AMQPAccount {
	t.Helper()
	sender, receiver := from.amqpBook(t), to.amqpBook(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := AMQPAccount{Messages: len(l.acked)}
	for id := range l.acked {
		_, arrived := r.Got(path, id)
		sent, handled := sender.sent[id], receiver.handled[id]
		once := slices.Equal(handled, []string{store.AMQPProcessed})
		one := slices.Equal(sender.answered[id], []string{store.AMQPMatched}) && slices.Equal(receiver.answers[id], []string{store.AMQPSent})
		done := slices.Equal(sent, []string{store.AMQPAcknowledged})
		a.count(&a.Lost, arrived && len(handled) > 0, id, "it did not arrive; at the receiver it is", handled)
		a.count(&a.Twice, once && receiver.events[id] == 1, id, fmt.Sprint(receiver.events[id], " events; it was handled as"), handled)
		a.count(&a.AppRecs, one, id, "AppRecs at the sender and the receiver", append(slices.Clone(sender.answered[id]), receiver.answers[id]...))
		a.count(&a.Open, done, id, "at the sender it is", sent)
		if one && done {
			a.Acknowledged++
		}
	}
	return a
}

func (a *AMQPAccount) count(of *int, fine bool, id, what string, states []string) {
	if fine {
		return
	}
	if *of++; *of <= 5 {
		a.Examples = append(a.Examples, fmt.Sprint(id, ": ", what, " ", states))
	}
}

func (s *Program) amqpBook(t T) amqpBook {
	t.Helper()
	book := amqpBook{map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string]int{}}
	s.Open(t, func(db *store.DB) {
		book.read(t, db)
		for page := 1; ; page++ {
			rows, _, err := db.Events(t.Context(), store.EventFilter{Type: TypeMessageReceived, Page: store.Page{Number: page, Size: 1000}})
			Must(t, err)
			for _, e := range rows {
				book.events[e.CEID]++
			}
			if len(rows) < 1000 {
				return
			}
		}
	})
	return book
}

func (b amqpBook) read(t T, db *store.DB) {
	t.Helper()
	for page := 1; ; page++ {
		rows, _, err := db.AMQPMessages(t.Context(), store.AMQPFilter{
			Kinds: []string{store.AMQPBusiness, store.AMQPAppRec}, Page: store.Page{Number: page, Size: 1000},
		})
		Must(t, err)
		for _, m := range rows {
			if of := b.of(m); of != nil {
				of[m.MsgID] = append(of[m.MsgID], m.Status)
			}
		}
		if len(rows) < 1000 {
			return
		}
	}
}

// of returns the account to which a row belongs. What was dropped because it was handled before is no second time.
func (b amqpBook) of(m store.AMQPMessage) map[string][]string {
	switch {
	case m.Status == store.AMQPDuplicate:
		return nil
	case m.Direction == store.AMQPOut && m.Kind == store.AMQPBusiness:
		return b.sent
	case m.Direction == store.AMQPOut:
		return b.answers
	case m.Kind == store.AMQPBusiness:
		return b.handled
	}
	return b.answered
}

// MessageState is the state of a business message or question that a program sent; empty while there is none.
func (s *Program) MessageState(t T, msgID string) (state string) {
	t.Helper()
	s.Open(t, func(db *store.DB) {
		rows, _, err := db.AMQPMessages(t.Context(), store.AMQPFilter{
			Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness, store.AMQPRequest}, ID: msgID,
		})
		Must(t, err)
		if len(rows) > 0 {
			state = rows[0].Status
		}
	})
	return state
}

// UnsettledAMQP counts what a program has still to do or waits for: deliveries, messages without their AppRec, answers.
func (s *Program) UnsettledAMQP(t T) (n int, said string) {
	t.Helper()
	s.Open(t, func(db *store.DB) {
		for _, of := range []store.AMQPFilter{
			{Direction: store.AMQPOut, Statuses: []string{store.AMQPSending, store.AMQPUnsent}},
			{Direction: store.AMQPOut, Statuses: []string{store.AMQPOpenMessage}},
			{Direction: store.AMQPOut, Statuses: []string{store.AMQPDue}},
		} {
			count := Must1[int](t)(db.CountAMQPMessages(t.Context(), of))
			n += count
			said += fmt.Sprint(count, " ", of.Statuses[0], ", ")
		}
		open := Must1[int](t)(db.CountDeliveries(t.Context(), store.DeliveryFilter{Statuses: []string{store.DeliveryPending, store.DeliveryRetrying}}))
		n += open
		said += fmt.Sprint(open, " deliveries")
	})
	return n, said
}
