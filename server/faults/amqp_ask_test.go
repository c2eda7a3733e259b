package faults

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/server/trial"
	"schakel/store"
)

// TestAMQPAskKilled kills the program at every frame that a question and its answer cause. Afterwards no question is open:
// each was answered, or waits for a person as unanswered; the handler was asked once at most, and who got an answer has its
// event.
//
// Rules: AMQP-17, AMQP-90, AMQP-93, AMQP-94, AMQP-96
func TestAMQPAskKilled(t *testing.T) {
	t.Parallel()
	var wires [2]*wire
	e := newExchange(t, func(n int, url string) (own string) {
		wires[n], own = newWire(t, url)
		return own
	})
	answers := e.answering(t)
	var questions []string
	for _, s := range steps() {
		for _, s.passed = range []bool{false, true} {
			reached := wires[s.who].arm(s.frame, s.passed)
			questions = append(questions, e.publish(t, trial.TypeQuestionAsked, trial.SubjectQuestion))
			s.await(t, reached)
			e.killProgram(t, wires, s, "")
		}
	}
	e.Settle(t)
	e.A.Stop(t)
	e.B.Stop(t)
	states := map[string]int{}
	for _, id := range questions {
		state := e.A.MessageState(t, id)
		states[state]++
		_, arrived := e.Receiver.Got(e.A.Inbox, answers.of(id))
		if state != store.AMQPAcknowledged && state != store.AMQPUnanswered || state == store.AMQPAcknowledged && !arrived {
			t.Errorf("question %s is %s; its answer arrived: %t", id, state, arrived)
		}
	}
	t.Logf("%d questions: %v", len(questions), states)
	if asked, times := e.Receiver.Offers(e.B.Handler()), e.Receiver.Attempts(e.B.Handler()); asked != times || asked == 0 {
		t.Errorf("the handler was asked %d questions %d times", asked, times)
	}
}

// answers has the MsgId of the answer to each question.
type answers struct {
	mu  sync.Mutex
	all map[string]string
}

func (a *answers) of(question string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[question]
}

// answering has B's system answer every question.
func (e *exchange) answering(t *testing.T) *answers {
	a := &answers{all: map[string]string{}}
	e.Receiver.Reply(e.B.Handler(), func(body []byte) []byte {
		var question struct{ ID string }
		if err := json.Unmarshal(body, &question); err != nil {
			t.Errorf("question %s: %v", body, err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all[question.ID] = uuid.NewString()
		return trial.NewMessage(t, trial.SubjectQuestion, a.all[question.ID], e.B.Party.HerID, e.B.Counterpart.HerID)
	})
	return a
}

// await waits until the step is reached.
func (s step) await(t *testing.T, reached <-chan struct{}) {
	t.Helper()
	select {
	case <-reached:
	case <-time.After(3 * time.Minute):
		t.Fatalf("no %s at party %d", s.name, s.who)
	}
}

// publish publishes a message of A and gives its MsgId.
func (e *exchange) publish(t *testing.T, eventType, subject string) (id string) {
	t.Helper()
	id = uuid.NewString()
	document := trial.NewMessage(t, subject, id, e.A.Party.HerID, e.A.Counterpart.HerID)
	answer, err := e.A.PublishMessage(e.A.Token(t, e.A.Publisher, "events.publish"), eventType, id, uuid.NewString(), document)
	trial.Must(t, err)
	answer.Want(t, http.StatusAccepted)
	return id
}
