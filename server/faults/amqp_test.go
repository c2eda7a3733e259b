package faults

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/pkitest"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// exchange is two programs that exchange messages over a RabbitMQ of their own.
type exchange struct {
	*trial.AMQPPair
	broker *brokertest.Broker
}

// newExchange makes the programs, one on SQLite and one on PostgreSQL, and starts them. through may put something between a
// program and the broker.
func newExchange(t *testing.T, through func(n int, url string) string) *exchange {
	t.Helper()
	broker := brokertest.StartOwn(t, brokertest.RabbitMQ4, nil)
	pki := pkitest.New(t, time.Now)
	x := trial.AMQPExchange{Username: brokertest.User, Password: brokertest.Password, Root: pki.Root}
	for n, her := range []int{100, 200} {
		broker.Party(t, her)
		broker.Queue(t, fmt.Sprint(her, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
		x.Parties[n] = amqpIdentity(pki, int64(her))
		x.URLs[n] = through(n, broker.URL)
	}
	e := &exchange{broker: broker}
	e.AMQPPair = trial.NewAMQPPair(t, x, [2]string{trial.SQLitePath(t), storetest.PostgresURL(t)},
		"--log-level", "warn", "--lease", "2s", "--retry-attempts", "10000")
	e.A.Start(t)
	e.B.Start(t)
	return e
}

// identity is a party with a certificate to sign and one to be encrypted for.
func amqpIdentity(pki *pkitest.PKI, her int64) trial.AMQPIdentity {
	id := trial.AMQPIdentity{HerID: her}
	for _, usage := range []x509.KeyUsage{x509.KeyUsageContentCommitment, x509.KeyUsageDataEncipherment | x509.KeyUsageKeyEncipherment} {
		leaf := pki.Leaf(usage)
		pair := tls.Certificate{Certificate: [][]byte{leaf.Certificate.Raw}, PrivateKey: leaf.Key}
		for _, c := range pki.Issuers() {
			pair.Certificate = append(pair.Certificate, c.Raw)
		}
		id.Pairs = append(id.Pairs, pair)
	}
	return id
}

func straight(_ int, url string) string { return url }

// settled lets all that is under way end, stops the programs and compares the ledgers.
func (e *exchange) settled(t *testing.T) {
	t.Helper()
	e.Settle(t)
	e.A.Stop(t)
	e.B.Stop(t)
	ab, ba := e.Compare(t)
	for _, a := range []trial.AMQPAccount{ab, ba} {
		t.Log(a)
		if a.Messages > 0 && !a.Sound() {
			t.Errorf("not every message was handled once and acknowledged once: %s; %q", a, a.Examples)
		}
	}
	if broken := e.Receiver.Broken(); len(broken) > 0 {
		t.Errorf("%d rules broken, as %v", len(broken), broken[:min(len(broken), 10)])
	}
}

// amqpKills sets how often TestAMQPKill kills something at each of its exchanges; a broker takes seconds to start, so that the
// default is less than what was tried once: -args -amqp-kills 50.
var amqpKills = flag.Int("amqp-kills", 10, "how often TestAMQPKill kills a program or the broker of each exchange")

// exchanges counts the pairs of programs that TestAMQPKill has, side by side: starting what was killed is mostly waiting.
const exchanges = 4

// mostOpen bounds the messages under way before more are published.
const mostOpen = 200

// TestAMQPKill kills two programs and the broker between them, one after the other and at random moments, while both publish
// business messages. Afterwards every message that was answered 202 became one event at the other side, and was acknowledged
// by one AppRec at both.
//
// Rules: AMQP-07, AMQP-08, AMQP-10, AMQP-82, AMQP-86, AMQP-105, AMQP-114, AMQP-115, AMQP-116, AMQP-121, AMQP-123, AMQP-138, AMQP-139
func TestAMQPKill(t *testing.T) {
	t.Parallel()
	for n := range exchanges {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			killExchange(t)
		})
	}
}

func killExchange(t *testing.T) {
	t.Helper()
	e := newExchange(t, straight)
	all := e.Correspondents(2, 15*time.Millisecond)
	for n := range *amqpKills {
		e.awaitBacklog(t)
		stop := trial.Correspondence(t, all...)
		trial.Pause(time.Duration(50+rand.IntN(250)) * time.Millisecond)
		if n%3 == 1 { // while messages and answers are under way alone
			stop()
			trial.Pause(time.Duration(rand.IntN(100)) * time.Millisecond)
		}
		switch {
		case n%10 == 1 || n%10 == 4 || n%10 == 7: // seldom, for it takes the longest to start
			e.broker.Kill9(t)
			stop()
			e.broker.Restart(t)
		case n%2 == 0:
			restart(t, e.A.Program, stop)
		default:
			restart(t, e.B.Program, stop)
		}
		if t.Failed() {
			return
		}
	}
	e.settled(t)
}

// restart kills a program while others publish, and starts it again.
func restart(t *testing.T, p *trial.Program, stop func()) {
	t.Helper()
	p.Kill(t)
	stop()
	p.Start(t)
}

// awaitBacklog waits until most of what was published has arrived.
func (e *exchange) awaitBacklog(t *testing.T) {
	t.Helper()
	trial.Eventually(t, "most messages arrive", func() (bool, string) {
		open := e.A.Ledger.Len() + e.B.Ledger.Len() - e.Receiver.TakenAt(e.A.Inbox) - e.Receiver.TakenAt(e.B.Inbox)
		return open < mostOpen, ""
	})
}

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

// step is a place on the way of a business message and its AppRec.
type step struct {
	frame
	who    int  // whose wire: 0 is the sender, 1 the receiver of the message
	passed bool // whether the frame arrives before somebody is killed
}

// steps are all frames that a message and its AppRec cause, in their order.
func steps() []step {
	message := []frame{
		{"message to the broker", true, transferFrame},
		{"outcome from the broker", false, dispositionFrame},
	}
	reading := []frame{
		{"message from the broker", false, transferFrame},
		{"settlement to the broker", true, dispositionFrame},
	}
	var all []step
	for _, f := range message {
		all = append(all, step{f, 0, false})
	}
	all = append(all, step{reading[0], 1, false})
	for _, f := range message { // the AppRec
		all = append(all, step{f, 1, false})
	}
	all = append(all, step{reading[1], 1, false})
	for _, f := range reading {
		all = append(all, step{f, 0, false})
	}
	return all
}

// TestAMQPEveryStep kills the program, or the broker, at every frame that a message and its AppRec cause: once before the
// frame has arrived and once when it just has. Afterwards each message was handled once and acknowledged once.
//
// Rules: AMQP-10, AMQP-82, AMQP-86, AMQP-105, AMQP-121, AMQP-123, AMQP-138, AMQP-139
func TestAMQPEveryStep(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		who  []int
		kill func(e *exchange, t *testing.T, wires [2]*wire, s step, id string)
	}{
		"program":                  {[]int{0, 1}, (*exchange).killProgram},
		"broker while one sends":   {[]int{0}, (*exchange).killBroker},
		"broker while one answers": {[]int{1}, (*exchange).killBroker},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wires [2]*wire
			e := newExchange(t, func(n int, url string) (own string) {
				wires[n], own = newWire(t, url)
				return own
			})
			for _, s := range steps() {
				for _, s.passed = range []bool{false, true} {
					if slices.Contains(tc.who, s.who) {
						tc.kill(e, t, wires, s, e.sendUntil(t, wires, s))
					}
				}
			}
			e.settled(t)
		})
	}
}

// killProgram kills the program whose wire has stopped.
func (e *exchange) killProgram(t *testing.T, wires [2]*wire, s step, _ string) {
	t.Helper()
	m := e.Members()[s.who]
	m.Kill(t)
	wires[s.who].cut()
	m.Start(t)
}

// killBroker kills the broker, and waits until the message has its AppRec all the same.
func (e *exchange) killBroker(t *testing.T, wires [2]*wire, _ step, id string) {
	t.Helper()
	e.broker.Kill9(t)
	wires[0].cut()
	wires[1].cut()
	e.broker.Restart(t)
	e.acknowledged(t, id)
	e.refresh(t)
}

// sendUntil has a message go from one to the other until a step is reached, and gives its MsgId.
func (e *exchange) sendUntil(t *testing.T, wires [2]*wire, s step) (id string) {
	t.Helper()
	reached := wires[s.who].arm(s.frame, s.passed)
	id = e.publish(t, trial.TypeMessageSent, trial.SubjectMessage)
	e.A.Ledger.Add([]string{id})
	s.await(t, reached)
	return id
}

// acknowledged waits until a message of A has its AppRec.
func (e *exchange) acknowledged(t *testing.T, id string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for e.A.MessageState(t, id) != store.AMQPAcknowledged {
		if time.Now().After(deadline) {
			t.Fatalf("message %s is %s", id, e.A.MessageState(t, id))
		}
		trial.Pause(50 * time.Millisecond)
	}
}

// refresh starts both programs anew: each loss of the broker makes them wait longer before they connect again, until a
// connection has held for a minute.
func (e *exchange) refresh(t *testing.T) {
	t.Helper()
	for _, m := range e.Members() {
		m.Kill(t)
		m.Start(t)
	}
}
