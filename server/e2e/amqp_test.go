package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/pkitest"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/storetest"
)

// parties is two programs that exchange messages, their broker and the authority of their certificates.
type parties struct {
	*trial.AMQPPair
	broker *brokertest.Broker
	pki    *pkitest.PKI
	leaves [2][2]pkitest.Leaf // of each party: to sign, and to be encrypted for
}

// newParties makes the parties 100 and 200, one on SQLite and one on PostgreSQL, that are not started.
func newParties(t *testing.T) *parties {
	t.Helper()
	p := &parties{broker: brokertest.StartOwn(t, brokertest.RabbitMQ4, nil), pki: pkitest.New(t, time.Now)}
	x := trial.AMQPExchange{
		URLs: [2]string{p.broker.URL, p.broker.URL}, Username: brokertest.User, Password: brokertest.Password, Root: p.pki.Root,
	}
	for n, her := range []int{100, 200} {
		p.broker.Party(t, her)
		p.broker.Queue(t, fmt.Sprint(her, "_reply"), map[string]any{"x-queue-type": "classic", "x-message-ttl": 15000})
		p.leaves[n] = [2]pkitest.Leaf{p.pki.Signer(), p.pki.Recipient()}
		x.Parties[n] = trial.AMQPIdentity{HerID: int64(her), Pairs: []tls.Certificate{p.pair(p.leaves[n][0]), p.pair(p.leaves[n][1])}}
	}
	p.AMQPPair = trial.NewAMQPPair(t, x, [2]string{trial.SQLitePath(t), storetest.PostgresURL(t)}, "--log-level", "warn")
	return p
}

// pair is a leaf with its chain.
func (p *parties) pair(leaf pkitest.Leaf) tls.Certificate {
	pair := tls.Certificate{Certificate: [][]byte{leaf.Certificate.Raw}, PrivateKey: leaf.Key}
	for _, c := range p.pki.Issuers() {
		pair.Certificate = append(pair.Certificate, c.Raw)
	}
	return pair
}

// TestParties has the parties 100 and 200 exchange messages over one RabbitMQ: a request, its AppRec, an answer, its AppRec; a
// question and its answer; a dead letter that an administrator puts back in the portal.
//
// Rules: AMQP-01, AMQP-14, AMQP-16, AMQP-17, AMQP-24, AMQP-45, AMQP-52, AMQP-77, AMQP-78, AMQP-85, AMQP-86, AMQP-92, AMQP-94, AMQP-95, AMQP-97
func TestParties(t *testing.T) {
	t.Parallel()
	p := newParties(t)
	p.A.Start(t)
	p.B.Start(t)
	request := p.send(t, p.A, trial.TypeMessageSent, trial.SubjectMessage)
	p.arrives(t, p.B, request)
	p.becomes(t, p.A, request, store.AMQPAcknowledged)
	answer := p.send(t, p.B, trial.TypeMessageSent, trial.SubjectMessage)
	p.arrives(t, p.A, answer)
	p.becomes(t, p.B, answer, store.AMQPAcknowledged)
	p.ask(t)
	p.putBack(t)
	p.A.Stop(t)
	p.B.Stop(t)
	ab, ba := p.Compare(t)
	if !ab.Sound() || !ba.Sound() {
		t.Errorf("%s %q; %s %q", ab, ab.Examples, ba, ba.Examples)
	}
}

// send publishes a business message at a member and gives its MsgId.
func (p *parties) send(t *testing.T, m *trial.AMQPMember, eventType, subject string) string {
	t.Helper()
	id := uuid.NewString()
	document := trial.NewMessage(t, subject, id, m.Party.HerID, m.Counterpart.HerID)
	said, err := m.PublishMessage(m.Token(t, m.Publisher, "events.publish"), eventType, id, uuid.NewString(), document)
	trial.Must(t, err)
	said.Want(t, http.StatusAccepted)
	if eventType == trial.TypeMessageSent {
		m.Ledger.Add([]string{id})
	}
	return id
}

// arrives waits for the event of a message at the systems of a member.
func (p *parties) arrives(t *testing.T, at *trial.AMQPMember, msgID string) {
	t.Helper()
	got := p.Receiver.WaitFor(t, at.Inbox, msgID)
	if !bytes.Contains(got.Body, []byte(msgID)) || !bytes.Contains(got.Body, []byte("urn:oid:2.16.578.1.12.4.1.2.")) {
		t.Errorf("the event of %s: %.500s", msgID, got.Body)
	}
}

func (p *parties) becomes(t *testing.T, m *trial.AMQPMember, msgID, state string) {
	t.Helper()
	trial.Eventually(t, "message "+msgID+" is "+state, func() (bool, string) {
		now := m.MessageState(t, msgID)
		return now == state, now
	})
}

// ask has A ask B, whose system answers at once, with more than a few kilobytes. Without an answer in time, or with a fault, the
// question waits for a person.
func (p *parties) ask(t *testing.T) {
	t.Helper()
	reply := uuid.NewString()
	document := bytes.Replace(trial.NewMessage(t, trial.SubjectQuestion, reply, 200, 100), []byte("Kan du"), []byte(strings.Repeat("Kan du ", 8000)), 1)
	p.Receiver.Reply(p.B.Handler(), func([]byte) []byte { return document })
	question := p.send(t, p.A, trial.TypeQuestionAsked, trial.SubjectQuestion)
	p.becomes(t, p.A, question, store.AMQPAcknowledged)
	got := p.Receiver.WaitFor(t, p.A.Inbox, reply)
	if n := bytes.Count(got.Body, []byte("Kan du ")); n < 8000 {
		t.Errorf("the answer arrived with %d of its 8000 sentences", n)
	}
	if _, asked := p.Receiver.Got(p.B.Handler(), question); !asked {
		t.Error("the handler was not asked")
	}
	p.Receiver.Behave(func(path, _ string) int {
		if path == p.B.Handler() {
			return http.StatusInternalServerError
		}
		return http.StatusAccepted
	})
	p.becomes(t, p.A, p.send(t, p.A, trial.TypeQuestionAsked, trial.SubjectQuestion), store.AMQPRejected)
	p.Receiver.Behave(nil)
}

// putBack has a message of A die on B's queue, where somebody takes it ten times and settles nothing, and B's administrator
// put it back.
func (p *parties) putBack(t *testing.T) {
	t.Helper()
	p.B.Stop(t)
	request := p.send(t, p.A, trial.TypeMessageSent, trial.SubjectMessage)
	p.becomes(t, p.A, request, store.AMQPOpenMessage)
	p.exhaust(t, "200_async")
	p.broker.AwaitDepth(t, "200_dl", 1)
	p.B.Start(t)
	admin := newAdministrator(t, p.B.Program)
	id := p.dead(t)
	page := admin.get(t, "/admin/amqp/messages/"+id)
	if !strings.Contains(page, "Dead letter") || !strings.Contains(page, "/put-back") {
		t.Errorf("the page of a dead letter: %s", page)
	}
	admin.post(t, "/admin/amqp/messages/"+id+"/put-back")
	p.arrives(t, p.B, request)
	p.becomes(t, p.A, request, store.AMQPAcknowledged)
}

// exhaust takes the message of a queue as often as the broker hands it out.
func (p *parties) exhaust(t *testing.T, queue string) {
	t.Helper()
	cfg := p.broker.Config()
	cfg.Retry = link.Retry{First: time.Millisecond, Max: time.Millisecond}
	c := trial.Must1[*link.Connection](t)(link.New(cfg))
	trial.Must(t, c.Start(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var taken atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Receive(ctx, queue, 1, func(context.Context, *link.Delivery) error { // until it is told to end
			taken.Add(1)
			return errors.New("not handled")
		})
	}()
	trial.Eventually(t, "the message was taken ten times", func() (bool, string) { return taken.Load() >= 10, fmt.Sprint(taken.Load()) })
	p.broker.AwaitDepth(t, queue, 0)
	cancel()
	<-ended
	trial.Must(t, c.Stop(context.Background()))
	if n := taken.Load(); n != 10 {
		t.Errorf("the broker handed a message out %d times, want 10", n)
	}
}

// dead waits for the dead letter of B and gives its id.
func (p *parties) dead(t *testing.T) (id string) {
	t.Helper()
	trial.Eventually(t, "the dead letter is taken in", func() (bool, string) {
		rows := messages(t, p.B.Program, store.AMQPFilter{Statuses: []string{store.AMQPDead}})
		if len(rows) > 0 {
			id = rows[0].ID
		}
		return id != "", ""
	})
	return id
}
