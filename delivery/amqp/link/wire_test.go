package link_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
)

// A foreign party sees exactly what the profile says, and nothing else: the properties that are set, application properties of
// type string, no delivery annotations, one Data section with the payload as it is.
//
// Rules: AMQP-01, AMQP-02, AMQP-03, AMQP-04, AMQP-05, AMQP-18, AMQP-19, AMQP-20, AMQP-22, AMQP-23, AMQP-24, AMQP-25, AMQP-26, AMQP-27, AMQP-28, AMQP-29, AMQP-30, AMQP-31, AMQP-32, AMQP-33, AMQP-34, AMQP-40, AMQP-41, AMQP-42
func TestMessageOnTheWire(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		c := connect(t, b.Config())
		whole := profileMessage("whole", p, p)
		bare := message.Message{
			ID: uuid("bare"), To: p.Async, Subject: message.SubjectSOAPFault, ReplyTo: p.Sync, CorrelationID: uuid("c"),
			ContentType: message.ContentSOAP, Timestamp: whole.Timestamp, FromHerID: p.HerID, ToHerID: p.HerID, Durable: true, Body: []byte("<a/>"),
		}
		for _, m := range []message.Message{whole, bare} {
			must(t, c.Send(within(t), p.Async, encode(t, m)))
		}
		got := brokertest.Proton.Receive(t, b.URL, source(b, p.Async), 2)
		for i, m := range []message.Message{whole, bare} {
			onWire(t, got[i], m)
		}
	})
}

// An error message has the fields of an error and one empty Data section, and passes
// through both brokers; it tells nothing of the payload.
//
// Rules: AMQP-12, AMQP-35, AMQP-36, AMQP-37, AMQP-38, AMQP-39, AMQP-125, AMQP-126, INC-14, INC-15
func TestErrorMessageOnTheWire(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		p := b.NewParty(t)
		c := connect(t, b.Config())
		original := profileMessage("original", p, p)
		reports := []message.Message{
			message.Report(original, message.Refuse(message.InvalidCMS), p.Error, p.Error, original.Timestamp),
			message.Report(original, message.RefuseCertificate(message.ExpiredCertificate, "aa", "bb"), p.Error, p.Error, original.Timestamp),
		}
		for _, m := range reports {
			must(t, c.Send(within(t), p.Error, encode(t, m)))
		}
		for i, got := range brokertest.Proton.Receive(t, b.URL, source(b, p.Error), 2) {
			onWire(t, got, reports[i])
			if got.Properties["message-id"].Text == original.ID || got.Application["originalMessageId"].Text != original.ID {
				t.Errorf("message-id %v, originalMessageId %v", got.Properties["message-id"], got.Application["originalMessageId"])
			}
			if _, has := got.Application["errorConditionData"]; has != (i == 1) {
				t.Errorf("report %d: errorConditionData is there: %v", i, has)
			}
		}
	})
}

// onWire holds the sections of a message to what it says.
func onWire(t *testing.T, got brokertest.Sections, m message.Message) {
	t.Helper()
	properties := map[string]brokertest.Value{
		"message-id": brokertest.Text(m.ID), "to": brokertest.Text(m.To), "subject": brokertest.Text(m.Subject),
		"reply-to": brokertest.Text(m.ReplyTo), "correlation-id": brokertest.Text(m.CorrelationID),
		"content-type": {Type: "symbol", Text: m.ContentType},
	}
	if m.ContentType == "" {
		delete(properties, "content-type")
	}
	same(t, "properties", got.Properties, properties)
	same(t, "application properties", got.Application, application(m))
	if len(got.DeliveryAnnotations) > 0 || len(got.Footer) > 0 {
		t.Errorf("delivery annotations %v, footer %v", got.DeliveryAnnotations, got.Footer)
	}
	if len(got.Body) != 1 || got.Body[0].Kind != "data" || got.Body[0].Value.Text != hex.EncodeToString(m.Body) {
		t.Errorf("the body is %v", got.Body)
	}
	if got.Header["durable"].Text != fmt.Sprint(m.Durable) {
		t.Errorf("durable is %v", got.Header["durable"])
	}
	if _, has := got.Header["ttl"]; has != (m.TTL > 0) {
		t.Errorf("the ttl is %v, sent with %v", got.Header["ttl"], m.TTL)
	}
}

func application(m message.Message) map[string]brokertest.Value {
	fields := map[string]string{
		"cpaId": m.CPAID, "Service": m.Service, "Action": m.Action, "applicationTimeStamp": "2026-03-14T09:26:53Z",
		"fromHerId": fmt.Sprint(m.FromHerID), "fromRole": m.FromRole, "toHerId": fmt.Sprint(m.ToHerID), "toRole": m.ToRole,
		"ConversationId": m.ConversationID,
	}
	if e := m.Error; e != nil {
		fields["originalMessageId"], fields["receiverTimeStamp"] = e.OriginalID, "2026-03-14T09:26:53Z"
		fields["errorCondition"], fields["errorDescription"], fields["errorConditionData"] = string(e.Condition), e.Description, e.Data
	}
	values := map[string]brokertest.Value{}
	for name, text := range fields {
		if text != "" {
			values[name] = brokertest.Text(text)
		}
	}
	return values
}

func same(t *testing.T, what string, got, want map[string]brokertest.Value) {
	t.Helper()
	for name, value := range got {
		if want[name] != value {
			t.Errorf("%s: %s is %v, want %v", what, name, value, want[name])
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: %s is absent", what, name)
		}
	}
}

// source is the address a peer receives from or sends to.
func source(b *brokertest.Broker, queue string) string {
	if b.Version == brokertest.RabbitMQ4 {
		return "/queues/" + queue
	}
	return "/amq/queue/" + queue
}

// Messages of foreign parties are read, however they write them: ids as uuid, string,
// binary or number, names in other case, numbers for texts, the body in several parts.
//
// Rules: AMQP-01, AMQP-18, AMQP-140
func TestForeignMessages(t *testing.T) {
	onBrokers(t, func(t *testing.T, b *brokertest.Broker) {
		for _, peer := range brokertest.Peers() {
			t.Run(string(peer), func(t *testing.T) {
				t.Parallel()
				p := b.NewParty(t)
				c := connect(t, b.Config())
				outcomes := peer.Send(t, b.URL, source(b, p.Async), foreign(b, p, peer)...)
				if want := slices.Repeat([]string{"accepted"}, len(outcomes)); !slices.Equal(outcomes, want) {
					t.Fatalf("outcomes %v", outcomes)
				}
				for i, d := range take(t, c, p.Async, len(outcomes), accept) {
					m, faults := message.Decode(d.Message)
					if len(faults) > 0 || m.ID == "" || m.FromHerID != 93238 || string(m.Body) != "payload" || m.Timestamp.IsZero() {
						t.Errorf("message %d: %+v, faults %v", i, m, faults)
					}
				}
			})
		}
	})
}

// foreign gives the same message in the ways others write it. The plugin of RabbitMQ 3.10
// turns the order of several Data sections round, so they are not sent through it.
func foreign(b *brokertest.Broker, p brokertest.Party, peer brokertest.Peer) []brokertest.Sections {
	id := uuid("foreign")
	variants := []brokertest.Value{
		brokertest.Text(id), {Type: "uuid", Text: id}, {Type: "ulong", Text: "42"}, {Type: "binary", Text: strings.ReplaceAll(id, "-", "")},
	}
	var all []brokertest.Sections
	for i, variant := range variants {
		one := brokertest.Sections{
			Properties: map[string]brokertest.Value{
				"message-id": variant, "correlation-id": variant, "to": brokertest.Text(p.Async), "subject": brokertest.Text("S"),
				"reply-to": brokertest.Text(p.Async), "content-type": {Type: "symbol", Text: "application/pkcs7-mime;smimetype=Signed-And-Enveloped-Data"},
			},
			Application: map[string]brokertest.Value{
				"fromherid": {Type: "int", Text: "93238"}, "TOHERID": brokertest.Text(" 8141703 "),
				"ApplicationTimestamp": brokertest.Text("2026-03-14T10:26:53.123+0100"),
			},
			Body: []brokertest.Section{{Kind: "data", Value: brokertest.Value{Type: "binary", Text: hex.EncodeToString([]byte("payload"))}}},
		}
		if i == 1 && peer == brokertest.Rhea && b.Version == brokertest.RabbitMQ4 {
			one.Body = []brokertest.Section{part("pay"), part("load")}
		}
		if i == 2 && peer == brokertest.Proton {
			one.Body = []brokertest.Section{{Kind: "value", Value: brokertest.Text("payload")}}
		}
		all = append(all, one)
	}
	return all
}

func part(text string) brokertest.Section {
	return brokertest.Section{Kind: "data", Value: brokertest.Value{Type: "binary", Text: hex.EncodeToString([]byte(text))}}
}

// A synchronous message carries its time to live and is not durable on the wire.
//
// Rules: AMQP-43, AMQP-91
func TestSyncMessageOnTheWire(t *testing.T) {
	t.Parallel()
	b := brokertest.StartScripted(t, map[string]brokertest.Behaviour{"100_sync": "accept"})
	c := connect(t, link.Config{URL: b.URL, Dialect: link.ServiceBus()})
	m := profileMessage("sync", brokertest.Party{HerID: 1, Async: "1_sync"}, brokertest.Party{HerID: 2, Async: "100_sync"})
	m.Durable, m.TTL = false, 15*time.Second
	must(t, c.Send(context.Background(), "100_sync", encode(t, m)))
	e := b.Await(t, func(e brokertest.Event) bool { return e.Event == "transfer" })
	if e.Durable || e.TTL != 15000 {
		t.Errorf("durable %v, ttl %d", e.Durable, e.TTL)
	}
}
