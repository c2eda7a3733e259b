package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/google/uuid"

	"schakel/delivery/amqp"
	"schakel/delivery/amqp/apprec"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/msghead"
	"schakel/delivery/amqp/pkitest"
	"schakel/store"
	"schakel/store/storetest"
)

// alone is one Schakel, b, among parties that have none.
type alone struct {
	*pair

	wire *link.Connection
	peer identity // whom b knows from the beginning

	mu        sync.Mutex
	refreshes map[string]int // how often the address registry was asked, by party
	registry  func(partyID string)
}

// newAlone makes a Schakel on a database.
func newAlone(t testing.TB, db *store.DB, broker *brokertest.Broker, change ...func(*amqp.Config)) *alone {
	t.Helper()
	a := &alone{pair: &pair{broker: broker, pki: newPKI(t)}, refreshes: map[string]int{}}
	a.wire = dial(t, broker)
	a.peer = newIdentity(t, broker, a.pki)
	counted := func(c *amqp.Config) {
		forget := c.Refresh
		c.Refresh = func(ctx context.Context, partyID string) error {
			a.mu.Lock()
			a.refreshes[partyID]++
			registry := a.registry
			a.mu.Unlock()
			if registry != nil {
				registry(partyID)
			}
			return forget(ctx, partyID)
		}
	}
	a.b = a.side(t, "b", db, newIdentity(t, broker, a.pki), a.peer, append([]func(*amqp.Config){counted}, change...)...)
	return a
}

// simple makes a Schakel on SQLite and RabbitMQ 4.
func simple(t *testing.T, change ...func(*amqp.Config)) *alone {
	t.Helper()
	return newAlone(t, storetest.SQLite(t), brokertest.Start(t, brokertest.RabbitMQ4), change...)
}

// again starts b once more.
func (a *alone) again(t *testing.T) {
	t.Helper()
	a.b.stop()
	a.b.start()
}

// held waits for a delivery of b to be in the error queue for a reason.
func (s *side) held(t *testing.T, reason string) store.Delivery {
	t.Helper()
	var found store.Delivery
	s.eventually("a delivery is held for "+reason, func() (bool, string) {
		list, _, err := s.db.Deliveries(context.Background(), store.DeliveryFilter{})
		for _, d := range list {
			if found = d; d.Status == store.DeliveryHeld && d.Reason == reason && d.Detail != "" {
				return err == nil, ""
			}
		}
		return false, s.all()
	})
	return found
}

func (a *alone) refreshed(partyID string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refreshes[partyID]
}

// meet makes b know a new party, with certificates to sign that may be others than its own.
func (a *alone) meet(t *testing.T, sign ...pkitest.Leaf) (identity, store.AMQPParty) {
	t.Helper()
	id := newIdentity(t, a.broker, a.pki)
	if len(sign) > 0 {
		id.sign = sign[0]
	}
	return id, a.register(t, id)
}

// register makes a party known to b, with its partner, endpoint, certificates and process.
func (a *alone) register(t *testing.T, id identity) store.AMQPParty {
	t.Helper()
	var counter store.AMQPParty
	a.b.write(func(tx *store.Tx) error {
		ctx := t.Context()
		partner := store.Partner{Name: fmt.Sprint("party ", id.HerID), Status: store.PartnerApproved}
		if err := tx.InsertPartner(ctx, &partner); err != nil {
			return err
		}
		endpoint := store.Endpoint{PartnerID: partner.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 30_000}
		if err := tx.InsertEndpoint(ctx, &endpoint); err != nil {
			return err
		}
		counter = partyOf(id, partner.ID, a.b.own.BrokerID, false)
		counter.EndpointID = endpoint.ID
		if err := tx.InsertAMQPParty(ctx, &counter); err != nil {
			return err
		}
		process := store.AMQPProcess{PartyID: counter.ID, OwnPartyID: a.b.own.ID, Name: "dialogue", Subject: subjectDialogue, Mode: store.AMQPAsync, Sends: typeOut, Receives: typeIn}
		return errors.Join(a.b.certificates(tx, counter.ID, id), tx.InsertAMQPProcess(ctx, &process))
	})
	return counter
}

// from sends b a message of a party, and gives its messageId and MsgId.
func (a *alone) from(t *testing.T, id identity) (messageID, msgID string) {
	t.Helper()
	messageID, msgID = uuid.NewString(), uuid.NewString()
	send(t, a.wire, a.b.me.Async, letter(t, id, a.b.me, dialogue(t, id, a.b.me, msgID), messageID))
	return messageID, msgID
}

// certify registers a certificate of a party at b.
func (a *alone) certify(t *testing.T, partyID, purpose string, leaf pkitest.Leaf) {
	t.Helper()
	a.b.write(func(tx *store.Tx) error {
		return tx.InsertAMQPCertificate(context.Background(), certificateRow(partyID, purpose, leaf))
	})
}

// receipt is an AppRec with a status to a document of b's, by the peer.
func (a *alone) receipt(t *testing.T, document []byte, messageID, status string) *goamqp.Message {
	t.Helper()
	parsed, err := msghead.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	answer := apprec.Answer{Version: apprec.V11, ID: messageID, At: time.Now(), Info: parsed.Info}
	if status == "2" {
		answer.Errors = []apprec.Error{apprec.T02("not so")}
	}
	built, err := apprec.Build(answer)
	if err != nil {
		t.Fatal(err)
	}
	if status != "1" && status != "2" {
		built = replace(built, `<Status V="1"`, `<Status V="`+status+`"`)
	}
	m := letter(t, a.peer, a.b.me, built, messageID)
	subject := "APPREC"
	m.Properties.Subject = &subject
	return m
}
