package trial

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"schakel/server/demo"
)

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
