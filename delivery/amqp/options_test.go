package amqp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"schakel/delivery/amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/message"
	"schakel/delivery/event"
	"schakel/delivery/jwe"
	"schakel/delivery/outbox"
	"schakel/store"
	"schakel/store/storetest"
)

// TestOptions has an operator choose the other readings.
//
// Rules: AMQP-20, AMQP-23, AMQP-133, AMQP-137, INC-01, INC-04, INC-26
func TestOptions(t *testing.T) {
	t.Parallel()
	a := simple(t, func(c *amqp.Config) { c.MissingFields, c.HeaderXML, c.FullQueueNames = true, true, true })
	m := letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, uuid.NewString()), uuid.NewString())
	m.Properties.To = nil
	send(t, a.wire, a.b.me.Async, m)
	told := take(t, a.wire, a.peer.Error, 1)[0]
	if p := told.ApplicationProperties; p["errorCondition"] != string(message.RequiredFieldMissing) || p["errorConditionData"] != `["to"]` || p["errorDescription"] != "Missing or invalid value in field: 'to'." {
		t.Errorf("%v", p)
	}
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString()))
	told = take(t, a.wire, a.peer.Error, 1)[0]
	if p := told.ApplicationProperties; p["errorCondition"] != string(message.NotInterpretableXML) {
		t.Errorf("%v", p)
	}
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, uuid.NewString()))
	out := take(t, a.wire, a.peer.Async, 1)[0]
	if *out.Properties.To != "amqp.example/ns/"+a.peer.Async || *out.Properties.ReplyTo != "amqp.example/ns/"+a.b.me.Async {
		t.Errorf("%+v", out.Properties)
	}
}

// TestAsynchronousWire: what goes out on an async queue is durable and never expires, also its AppRec.
//
// Rules: AMQP-42, AMQP-124, INC-22
func TestAsynchronousWire(t *testing.T) {
	t.Parallel()
	a := simple(t)
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, uuid.NewString()))
	a.from(t, a.peer)
	for _, m := range take(t, a.wire, a.peer.Async, 2) {
		if m.Header == nil || !m.Header.Durable || m.Header.TTL != 0 || m.Properties.AbsoluteExpiryTime != nil {
			t.Errorf("header %+v", m.Header)
		}
	}
}

// TestOldBroker exchanges messages over RabbitMQ 3.10, which does much its own way.
//
// Rules: AMQP-01, AMQP-07, INC-28
func TestOldBroker(t *testing.T) {
	t.Parallel()
	a := newAlone(t, storetest.SQLite(t), brokertest.Start(t, brokertest.RabbitMQ310))
	_, msgID := a.from(t, a.peer)
	a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	out := uuid.NewString()
	a.b.publish(typeOut, dialogue(t, a.b.me, a.peer, out))
	a.b.message(store.AMQPOut, store.AMQPBusiness, out, store.AMQPOpenMessage)
	take(t, a.wire, a.peer.Async, 2)
	send(t, a.wire, a.b.me.Async, letter(t, a.peer, a.b.me, []byte("<a/>"), uuid.NewString()))
	told := take(t, a.wire, a.peer.Error, 1)[0]
	if told.ApplicationProperties["errorCondition"] != string(message.NotWellFormedXML) {
		t.Errorf("%v", told.ApplicationProperties)
	}
}

// TestAnswerAgain: a person has a stored AppRec sent once more, the same one.
//
// Rules: AMQP-139, INC-23
func TestAnswerAgain(t *testing.T) {
	t.Parallel()
	a := simple(t)
	_, msgID := a.from(t, a.peer)
	row := a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
	a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
	if err := a.b.bridge.AnswerAgain(t.Context(), outbox.Actor{PartnerID: "another"}, row.ID); err == nil {
		t.Error("a partner has it sent")
	}
	must(t, a.b.bridge.AnswerAgain(t.Context(), operator(), row.ID))
	two := take(t, a.wire, a.peer.Async, 2)
	if two[0].Properties.MessageID != two[1].Properties.MessageID || a.b.outgoing() != 1 {
		t.Errorf("%v and %v", two[0].Properties, two[1].Properties)
	}
}

// TestAfterTheAppRec: a failure after a positive AppRec reaches the sender by neither AppRec nor error.
//
// Rules: AMQP-75
func TestAfterTheAppRec(t *testing.T) {
	t.Parallel()
	a := simple(t)
	a.b.inbox.mu.Lock()
	a.b.inbox.broken = true
	a.b.inbox.mu.Unlock()
	_, msgID := a.from(t, a.peer)
	a.b.message(store.AMQPOut, store.AMQPAppRec, msgID, store.AMQPSent)
	a.b.held(t, "inbox")
	if n := a.b.outgoing(); n != 1 {
		t.Errorf("%d messages went out", n)
	}
}

// TestClock: a clock that follows no time server is reported.
//
// Rules: AMQP-54
func TestClock(t *testing.T) {
	t.Parallel()
	a := simple(t, func(c *amqp.Config) {
		c.Clock = func() amqp.ClockState { return amqp.ClockState{Known: true, Error: time.Hour, Detail: "it is off"} }
	})
	a.b.eventually("the clock is looked at", func() (bool, string) {
		s := a.b.bridge.Clock()
		return s.Known && !s.Synchronised && s.Error == time.Hour && s.Detail == "it is off", fmt.Sprint(s)
	})
	if s := amqp.SystemClock(); s.Detail == "" {
		t.Errorf("%+v", s)
	}
}

// TestLiberal has a foreign peer write messages as others do: they are taken.
//
// Rules: AMQP-18, AMQP-140, INC-20, INC-25
func TestLiberal(t *testing.T) {
	t.Parallel()
	a := simple(t)
	for name, change := range map[string]func(s *brokertest.Sections){
		"ids as uuid": func(s *brokertest.Sections) {
			for _, field := range []string{"message-id", "correlation-id"} {
				s.Properties[field] = brokertest.Value{Type: "uuid", Text: s.Properties[field].Text}
			}
		},
		"numbers": func(s *brokertest.Sections) {
			for _, field := range []string{"fromHerId", "toHerId"} {
				s.Application[field] = brokertest.Value{Type: "int", Text: s.Application[field].Text}
			}
		},
		"names": func(s *brokertest.Sections) {
			s.Application["FROMHERID"], s.Application["applicationtimestamp"] = s.Application["fromHerId"], s.Application["applicationTimeStamp"]
			delete(s.Application, "fromHerId")
			delete(s.Application, "applicationTimeStamp")
		},
		"time": func(s *brokertest.Sections) {
			s.Application["applicationTimeStamp"] = brokertest.Text("2026-03-01T12:00:00.123+0200")
		},
		"content type": func(s *brokertest.Sections) {
			s.Properties["content-type"] = brokertest.Value{Type: "symbol", Text: "Application/pkcs7-mime;smimetype=signed-and-enveloped-data"}
		},
		"full names": func(s *brokertest.Sections) {
			s.Properties["to"] = brokertest.Text("x/y/" + s.Properties["to"].Text)
			s.Properties["reply-to"] = brokertest.Text("x/y/" + s.Properties["reply-to"].Text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msgID := uuid.NewString()
			s := sections(letter(t, a.peer, a.b.me, dialogue(t, a.peer, a.b.me, msgID), uuid.NewString()))
			change(&s)
			brokertest.Proton.Send(t, a.broker.URL, "/queues/"+a.b.me.Async, s)
			a.b.message(store.AMQPIn, store.AMQPBusiness, msgID, store.AMQPProcessed)
		})
	}
}

// TestCloudEvents exchanges events with a party of no health exchange in the AMQP binding of CloudEvents, in both modes, and encrypted for it. What
// its client may not send is set aside. One whose audience is not known yet is offered again, and goes to its audience alone.
//
// Rules: CE-01
func TestCloudEvents(t *testing.T) {
	t.Parallel()
	const typeFact = "no.example.fact.v1"
	for name, mode := range map[string]string{"binary": "binary", "structured": "structured", "encrypted": "binary"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := simple(t)
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			must(t, err)
			recipient := ""
			if name == "encrypted" {
				public, err := jose.JSONWebKey{Key: key.Public(), KeyID: "theirs"}.MarshalJSON()
				must(t, err)
				recipient = string(public)
			}
			a.b.cfg.Encrypter = jwe.New(jwe.Config{Now: time.Now, Open: func(string) ([]byte, error) { return make([]byte, 32), nil }})
			in, out := uuid.NewString(), uuid.NewString()
			a.broker.Queue(t, in, nil)
			a.broker.Queue(t, out, nil)
			a.befriend(t, store.AMQPParty{Kind: store.AMQPCloudEvents, Name: "friend", AsyncQueue: out, InboundQueue: in, ClientID: "friend", ContentMode: mode}, typeFact, recipient)
			var asked atomic.Int64
			only := store.OnlyFor(a.b.self.ID, "prt_x")
			a.b.cfg.Audience = func(context.Context, *event.Event) (store.Audience, error) {
				if asked.Add(1) == 1 {
					return "", errors.New("nobody answers")
				}
				return only, nil
			}
			a.again(t)
			ev, err := event.New(map[string]string{"id": "f-1", "source": "urn:own", "type": typeFact, "datacontenttype": "application/json"}, []byte(`{"a":1}`), event.Limits{})
			must(t, err)
			if _, err := a.b.engine.Accept(context.Background(), outbox.Submission{ClientID: "own", PartnerID: a.b.self.ID, FromOwn: true, Events: []event.Event{ev}}); err != nil {
				t.Fatal(err)
			}
			got := brokertest.Proton.Receive( // rhea as a receiver breaks the session window of RabbitMQ 4
				t, a.broker.URL, "/queues/"+out, 1)[0]
			contentType := got.Properties["content-type"].Text
			if structured := strings.HasPrefix(contentType, event.MediaType); structured != (mode == "structured") || mode == "binary" && got.Application["cloudEvents:type"].Text != typeFact {
				t.Errorf("%+v", got)
			}
			if name == "encrypted" {
				body, err := hex.DecodeString(got.Body[0].Value.Text)
				must(t, err)
				sealed, err := jose.ParseEncryptedCompact(string(body), []jose.KeyAlgorithm{jose.ECDH_ES_A256KW}, []jose.ContentEncryption{jose.A256GCM})
				must(t, err)
				body, err = sealed.Decrypt(key)
				must(t, err)
				if contentType != jwe.MediaType || string(body) != `{"a":1}` {
					t.Errorf("%s as %s", body, contentType)
				}
			}
			a.sendEvents(t, in, mode)
			a.b.eventually("the event is there", func() (bool, string) { return len(a.b.inbox.events(typeIn)) == 1, a.b.all() })
			if ev := a.b.inbox.events(typeIn)[0]; ev.CEID != "good" || string(ev.Data) != `{"b":2}` {
				t.Errorf("%+v", ev)
			}
			if stored, err := a.b.db.Event(t.Context(), a.b.inbox.events(typeIn)[0].ID); err != nil || stored.Audience != only || asked.Load() < 2 {
				t.Errorf("the audience is %q, asked for %d times, %v", stored.Audience, asked.Load(), err)
			}
			a.b.eventually("the other is kept aside", func() (bool, string) {
				rows, n, err := a.b.db.AMQPMessages(context.Background(), store.AMQPFilter{Direction: store.AMQPIn, Statuses: []string{store.AMQPQuarantined}})
				return err == nil && n == 2 && rows[0].Reason != "" && len(rows[0].Encoded) > 0, a.b.all()
			})
		})
	}
}

// befriend adds a party, subscribed to an event type, with data encrypted for a recipient where there is one.
func (a *alone) befriend(t *testing.T, party store.AMQPParty, eventType, recipient string) {
	t.Helper()
	a.b.write(func(tx *store.Tx) error {
		ctx := t.Context()
		partner := store.Partner{Name: party.Name, Status: store.PartnerApproved}
		if err := tx.InsertPartner(ctx, &partner); err != nil {
			return err
		}
		endpoint := store.Endpoint{PartnerID: partner.ID, Name: "amqp", Kind: store.EndpointAMQP, Status: store.EndpointActive, MaxConcurrency: 8, TimeoutMS: 30_000}
		if err := tx.InsertEndpoint(ctx, &endpoint); err != nil {
			return err
		}
		party.PartnerID, party.BrokerID, party.EndpointID, party.Enabled, party.Source = partner.ID, a.b.own.BrokerID, endpoint.ID, true, store.AMQPEntered
		if err := tx.InsertAMQPParty(ctx, &party); err != nil {
			return err
		}
		return tx.InsertSubscription(ctx, &store.Subscription{
			PartnerID: partner.ID, EndpointID: endpoint.ID, Status: store.SubscriptionApproved, Types: store.Strings{eventType}, Encrypt: recipient, EncryptSeed: "x",
		})
	})
}

// sendEvents has rhea write a good event, one of a type that is not allowed, and something that is none.
func (a *alone) sendEvents(t *testing.T, queue, mode string) {
	t.Helper()
	one := func(id, eventType string) brokertest.Sections {
		if mode == "structured" {
			body := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"urn:friend","type":%q,"datacontenttype":"application/json","data":{"b":2}}`, id, eventType)
			return brokertest.Sections{Properties: map[string]brokertest.Value{"message-id": brokertest.Text(id), "content-type": {Type: "symbol", Text: "application/cloudevents+json"}}, Body: data(body)}
		}
		return brokertest.Sections{
			Properties: map[string]brokertest.Value{"message-id": brokertest.Text(id), "content-type": {Type: "symbol", Text: "application/json"}},
			Application: map[string]brokertest.Value{
				"cloudEvents:specversion": brokertest.Text("1.0"), "cloudEvents:id": brokertest.Text(id), "cloudEvents:source": brokertest.Text("urn:friend"), "cloudEvents:type": brokertest.Text(eventType),
			},
			Body: data(`{"b":2}`),
		}
	}
	none := brokertest.Sections{Properties: map[string]brokertest.Value{"message-id": brokertest.Text("none"), "content-type": {Type: "symbol", Text: "text/plain"}}, Body: data("hello")}
	brokertest.Rhea.Send(t, a.broker.URL, "/queues/"+queue, one("good", typeIn), one("good", typeIn), one("bad", typeOut), none)
}

func data(text string) []brokertest.Section {
	return []brokertest.Section{{Kind: "data", Value: brokertest.Value{Type: "binary", Text: hex.EncodeToString([]byte(text))}}}
}
