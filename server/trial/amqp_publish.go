package trial

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp/msghead"
)

// NewMessage makes a business message from one party to another.
func NewMessage(t T, subject, msgID string, from, to int64) []byte {
	t.Helper()
	return Must1[[]byte](t)(msghead.Compose(msghead.Draft{
		Type: msghead.Code{V: subject, DN: "Dialog"}, MsgID: msgID, Generated: time.Now(),
		Sender: headParty(from), Receiver: headParty(to), Topic: msghead.Code{V: "BA"}, Question: "Kan du komme?",
	}))
}

func headParty(her int64) msghead.Party {
	unit := func(name string, her int64) msghead.Unit {
		return msghead.Unit{Name: name, Idents: []msghead.Ident{{ID: fmt.Sprint(her), Type: msghead.Code{V: msghead.TypeHER}}}}
	}
	own := unit("Unit", her)
	return msghead.Party{Organisation: unit("Organisation", her+1_000_000), Unit: &own}
}

// PublishMessage publishes a business message in binary mode and returns the answer. The same key is the same request.
func (s *Program) PublishMessage(access, eventType, msgID, key string, document []byte) (Answer, error) {
	return s.Try(http.MethodPost, "/events/v1/events", access, map[string]string{
		"Content-Type": "application/xml", "Idempotency-Key": `"` + key + `"`,
		"Ce-Specversion": "1.0", "Ce-Id": msgID, "Ce-Source": s.Own.Source(), "Ce-Type": eventType,
	}, document)
}

// Correspondent publishes business messages of a side, one after another, until it is told to stop. A request without an
// answer that settles it is repeated with its key. Its ledger has the MsgIds of those that were answered 202.
type Correspondent struct {
	Program *Program
	Side    AMQPSide
	Ledger  *Ledger
	Pause   time.Duration // between two messages

	msgID, key string // of the request that has no answer yet
	document   []byte
}

// Run publishes until done is closed.
func (p *Correspondent) Run(t T, access string, done <-chan struct{}) {
	for !t.Failed() {
		p.step(t, access)
		select {
		case <-done:
			return
		case <-time.After(p.Pause):
		}
	}
}

func (p *Correspondent) step(t T, access string) {
	if p.msgID == "" {
		p.msgID, p.key = uuid.NewString(), uuid.NewString()
		p.document = NewMessage(t, SubjectMessage, p.msgID, p.Side.Party.HerID, p.Side.Counterpart.HerID)
	}
	answer, err := p.Program.PublishMessage(access, TypeMessageSent, p.msgID, p.key, p.document)
	p.Ledger.answered(answer.Status)
	switch {
	case err != nil: // the program is gone, or its answer is
	case answer.Status == http.StatusAccepted:
		p.Ledger.Add([]string{p.msgID})
		p.msgID = ""
	case answer.Status == http.StatusConflict || answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusTooManyRequests:
	default:
		t.Errorf("publish: %d %s", answer.Status, answer.Body)
	}
}

// Correspondence lets correspondents publish until the function it gives is called, which returns when they have stopped.
func Correspondence(t T, all ...*Correspondent) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var running sync.WaitGroup
	for _, p := range all {
		access := p.Program.Token(t, p.Side.Publisher, "events.publish")
		running.Go(func() { p.Run(t, access, done) })
	}
	return sync.OnceFunc(func() {
		close(done)
		running.Wait()
	})
}
