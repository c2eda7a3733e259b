package message_test

import (
	"testing"
	"time"

	amqp "github.com/Azure/go-amqp"

	"schakel/delivery/amqp/message"
)

const (
	someID  = "6f1d6c4e-3a0b-4b5c-9d2e-7f8a9b0c1d2e"
	otherID = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
)

var someTime = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// whole gives a message with every field of a business message.
func whole() message.Message {
	return message.Message{
		ID: someID, To: "host/ns/8141703_async", Subject: "DIALOG_INNBYGGER_EKONTAKT", ReplyTo: "host/ns/93238_async", CorrelationID: otherID,
		ContentType: message.ContentSignedAndEncrypted, CPAID: "cpa", Service: "S", Action: "A", Timestamp: someTime,
		FromHerID: 93238, FromRole: "F", ToHerID: 8141703, ToRole: "T", ConversationID: "c", Durable: true, Body: []byte{0x30, 0x80},
	}
}

// bare gives a message with the required fields alone.
func bare() message.Message {
	m := whole()
	m.CPAID, m.Service, m.Action, m.FromRole, m.ToRole, m.ConversationID = "", "", "", "", "", ""
	return m
}

func encode(t testing.TB, m message.Message) *amqp.Message {
	t.Helper()
	out, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// overWire gives a message as its receiver has it.
func overWire(t testing.TB, m *amqp.Message) *amqp.Message {
	t.Helper()
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	out := new(amqp.Message)
	if err := out.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	return out
}

func ptr(s string) *string { return &s }
