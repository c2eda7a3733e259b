package main

import (
	"strings"
	"testing"

	"schakel/delivery/amqp"
	"schakel/server/cli"
	"schakel/store"
	"schakel/store/storetest"

	"github.com/prometheus/client_golang/prometheus"
)

// Queues whose messages expire are counted, and /readyz names them.
//
// Rules: AMQP-42, INC-22
func TestQueuesWithATimeToLiveAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		err := db.Write(ctx, func(tx *store.Tx) error {
			own := store.Partner{Own: true, Name: "own", Status: store.PartnerApproved}
			b := store.AMQPBroker{Name: "exchange", Dialect: store.AMQPRabbitMQ4, URL: "amqps://broker.example", SASL: store.AMQPAnonymous, Enabled: true}
			if err := tx.InsertPartner(ctx, &own); err != nil {
				return err
			}
			if err := tx.InsertAMQPBroker(ctx, &b); err != nil {
				return err
			}
			p := store.AMQPParty{PartnerID: own.ID, BrokerID: b.ID, Own: true, Kind: store.AMQPHealth, Name: "Clinic", HerID: 100}
			if err := tx.InsertAMQPParty(ctx, &p); err != nil {
				return err
			}
			return tx.SaveAMQPQueues(ctx, b.ID, []store.AMQPQueue{{Name: "100_async", PartyID: p.ID, Known: true, TTLMS: 900_000}, {Name: "100_error", PartyID: p.ID, Known: true}}, store.Time{})
		})
		if err != nil {
			t.Fatal(err)
		}
		if counted := amqpGauges(t, db)["schakel_amqp_queues_with_ttl"]; counted != 1 {
			t.Errorf("%v queues are counted, want 1", counted)
		}
		ready := amqpReady{amqp.New(amqp.Config{DB: db, Now: cli.Clock}), db}
		if err := ready.Ready(ctx); err == nil || !strings.Contains(err.Error(), "Queue 100_async: Its messages expire after 15 min.") || strings.Contains(err.Error(), "100_error") {
			t.Errorf("ready: %v", err)
		}
	})
}

// Dead letters are counted by state, with the age of the oldest, so that an alert can be set on them.
//
// Rules: AMQP-53, AMQP-124
func TestDeadLettersAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		err := db.Write(ctx, func(tx *store.Tx) error {
			for _, id := range []string{"a", "b"} {
				m := store.AMQPMessage{Direction: store.AMQPIn, Kind: store.AMQPBusiness, Status: store.AMQPDead, MessageID: id, Queue: "100_dl", OwnPartyID: "amp_own"}
				if err := tx.InsertAMQPMessage(ctx, &m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got := amqpGauges(t, db)
		if got["schakel_amqp_messages dead"] != 2 || got["schakel_amqp_messages held"] != 0 || got["schakel_amqp_oldest_seconds dead"] <= 0 {
			t.Errorf("%v", got)
		}
	})
}

// amqpGauges returns the gauges of the AMQP exchange by name, and the value of their label behind it.
func amqpGauges(t *testing.T, db *store.DB) map[string]float64 {
	t.Helper()
	registered := prometheus.NewRegistry()
	registered.MustRegister(newAMQPDepth(db))
	families, err := registered.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue()
		}
	}
	return got
}
