package amqp_test

import (
	"encoding/pem"
	"errors"
	"fmt"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/pkitest"
	"schakel/store"
)

// agree makes the rows of what is agreed.
func (s *side) agree(dialect, url string) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		ctx := s.t.Context()
		s.self = store.Partner{Own: true, Name: s.name, Status: store.PartnerApproved}
		s.partner = store.Partner{Name: "the other of " + s.name, Status: store.PartnerApproved}
		at := store.AMQPBroker{Name: "exchange", Dialect: dialect, URL: url, SASL: store.AMQPPlain, Username: brokertest.User, Secret: brokertest.Password, Enabled: true}
		if err := errors.Join(tx.InsertPartner(ctx, &s.self), tx.InsertPartner(ctx, &s.partner), tx.InsertAMQPBroker(ctx, &at)); err != nil {
			return err
		}
		endpoint := store.Endpoint{PartnerID: s.partner.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 30_000}
		hook := store.Endpoint{PartnerID: s.self.ID, Name: "inbox", Kind: store.EndpointWebhook, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 5000}
		if err := errors.Join(tx.InsertEndpoint(ctx, &endpoint), tx.InsertEndpoint(ctx, &hook)); err != nil {
			return err
		}
		s.own = partyOf(s.me, s.self.ID, at.ID, true)
		s.counter = partyOf(s.other, s.partner.ID, at.ID, false)
		s.counter.EndpointID = endpoint.ID
		if err := errors.Join(tx.InsertAMQPParty(ctx, &s.own), tx.InsertAMQPParty(ctx, &s.counter)); err != nil {
			return err
		}
		return errors.Join(
			s.certificates(tx, s.own.ID, s.me), s.certificates(tx, s.counter.ID, s.other), s.processes(tx, hook.ID),
			tx.InsertSubscription(ctx, &store.Subscription{PartnerID: s.partner.ID, EndpointID: endpoint.ID, Status: store.SubscriptionApproved, Types: store.Strings{typeOut, typeAsk}}),
			tx.InsertSubscription(ctx, &store.Subscription{PartnerID: s.self.ID, EndpointID: hook.ID, Status: store.SubscriptionApproved, Types: store.Strings{typeIn, typeReply}}),
		)
	}
}

func partyOf(id identity, partnerID, brokerID string, own bool) store.AMQPParty {
	p := store.AMQPParty{
		PartnerID: partnerID, BrokerID: brokerID, Own: own, Kind: store.AMQPHealth, Name: fmt.Sprint("HER ", id.HerID), HerID: int64(id.HerID),
		AsyncQueue: "amqp.example/ns/" + id.Async, SyncQueue: id.Sync, ErrorQueue: id.Error, Enabled: true, Source: store.AMQPEntered,
	}
	if own {
		p.ReplyQueue, p.DeadQueue = fmt.Sprint(id.HerID, "_reply"), id.DeadLetter
	}
	return p
}

func (s *side) certificates(tx *store.Tx, partyID string, id identity) error {
	insert := func(purpose string, leaf pkitest.Leaf) error {
		return tx.InsertAMQPCertificate(s.t.Context(), certificateRow(partyID, purpose, leaf))
	}
	return errors.Join(insert(store.AMQPSign, id.sign), insert(store.AMQPEncrypt, id.encrypt))
}

func certificateRow(partyID, purpose string, leaf pkitest.Leaf) *store.AMQPCertificate {
	c := leaf.Certificate
	return &store.AMQPCertificate{
		PartyID: partyID, Purpose: purpose, Thumbprint: certs.Thumbprint(c), Subject: c.Subject.String(), Source: store.AMQPEntered,
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})),
		NotBefore:   store.At(c.NotBefore), NotAfter: store.At(c.NotAfter),
	}
}

func (s *side) processes(tx *store.Tx, handlerID string) error {
	ctx := s.t.Context()
	return errors.Join(
		tx.InsertAMQPProcess(ctx, &store.AMQPProcess{PartyID: s.counter.ID, OwnPartyID: s.own.ID, Name: "dialogue", Subject: subjectDialogue, Mode: store.AMQPAsync, Sends: typeOut, Receives: typeIn, CPAID: "93252", Service: "Dialog", Action: "Send", FromRole: "A", ToRole: "B"}),
		tx.InsertAMQPProcess(ctx, &store.AMQPProcess{PartyID: s.counter.ID, OwnPartyID: s.own.ID, Name: "question", Subject: subjectQuestion, Mode: store.AMQPSync, Sends: typeAsk, Receives: typeReply, HandlerID: handlerID}),
	)
}
