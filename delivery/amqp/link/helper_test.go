package link_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	amqp "github.com/Azure/go-amqp"
	"schakel/delivery/amqp/brokertest"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
)

// giveUp ends a test that waits for what never comes; nothing else depends on it.
const giveUp = 3 * time.Minute

func quick(cfg link.Config) link.Config {
	cfg.Retry = link.Retry{First: 20 * time.Millisecond, Max: 200 * time.Millisecond}
	return cfg
}

// connect starts a connection that ends with the test.
func connect(t testing.TB, cfg link.Config) *link.Connection {
	t.Helper()
	c, err := link.New(quick(cfg))
	must(t, err)
	must(t, c.Start(context.Background()))
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	t.Cleanup(cancel)
	return ctx
}

func plain(id string) *amqp.Message {
	return &amqp.Message{
		Header:     &amqp.MessageHeader{Durable: true, Priority: 4},
		Properties: &amqp.MessageProperties{MessageID: id},
		Data:       [][]byte{[]byte("body of " + id)},
	}
}

func idOf(m *amqp.Message) string {
	read, _ := message.Decode(m)
	return read.ID
}

func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// profileMessage makes a whole message of the profile from one party to another.
func profileMessage(id string, from, to brokertest.Party) message.Message {
	return message.Message{
		ID: uuid(id), To: "host/ns/" + to.Async, Subject: "DIALOG_INNBYGGER_EKONTAKT", ReplyTo: "host/ns/" + from.Async,
		CorrelationID: uuid("correlation " + id), ContentType: message.ContentSignedAndEncrypted,
		CPAID: "51795e2c-9d39-44e0-9168-5bee38f20819", Service: "Samhandling", Action: "Dialog",
		Timestamp: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), FromHerID: from.HerID, FromRole: "Sykehus",
		ToHerID: to.HerID, ToRole: "Fastlege", ConversationID: uuid("conversation"), Durable: true,
		Body: []byte("0\x82\x00\xff\x00 not MIME, not base64"),
	}
}

func encode(t testing.TB, m message.Message) *amqp.Message {
	t.Helper()
	out, err := message.Encode(m)
	must(t, err)
	return out
}

// take receives so many messages, settling each as asked, and gives them.
func take(t testing.TB, c *link.Connection, queue string, count int, settle func(context.Context, *link.Delivery) error) []*link.Delivery {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var mu sync.Mutex
	var all []*link.Delivery
	_ = c.Receive(ctx, queue, 1, func(ctx context.Context, d *link.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		if len(all) == count {
			return d.Release(ctx)
		}
		if err := settle(ctx, d); err != nil {
			return err
		}
		if all = append(all, d); len(all) == count {
			cancel()
		}
		return nil
	})
	if len(all) != count {
		t.Fatalf("received %d messages from %s, want %d; state %+v", len(all), queue, count, c.State())
	}
	return all
}

func accept(ctx context.Context, d *link.Delivery) error { return d.Accept(ctx) }

// onBrokers runs a test on both versions of RabbitMQ, beside other tests.
func onBrokers(t *testing.T, test func(t *testing.T, b *brokertest.Broker)) {
	t.Helper()
	t.Parallel()
	for _, v := range brokertest.Versions() {
		t.Run("RabbitMQ "+string(v), func(t *testing.T) {
			b := brokertest.Start(t, v)
			t.Parallel()
			test(t, b)
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
