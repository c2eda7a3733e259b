package main

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"schakel/delivery/freeport"
	"schakel/server/cli"
	"schakel/server/trial"
	"schakel/store"
	"schakel/store/needs"
)

// demoGiveUp sets how long a test waits for what the demonstration must show.
const demoGiveUp = 3 * time.Minute

// TestDemoDialogue runs the demonstration on a RabbitMQ and wants a message in every state that it is to show.
func TestDemoDialogue(t *testing.T) {
	t.Parallel()
	needs.Full(t, "a broker")
	dir := t.TempDir()
	broker, err := findBroker(dir, filepath.Join("..", ".cache", "rabbitmq4"))
	if err != nil {
		t.Fatal(err)
	}
	if !broker.found() {
		needs.Missing(t, broker.failed.Error(), ".ci/prepare installs a broker when run as root")
	}
	d, out := startDemo(t, dir, broker)
	for _, want := range []store.AMQPFilter{
		{Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPAcknowledged}},
		{Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPRejected}},
		{Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPFailed}},
		{Direction: store.AMQPOut, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPOpenMessage}},
		{Direction: store.AMQPOut, Kinds: []string{store.AMQPRequest}, Statuses: []string{store.AMQPAcknowledged}},
		{Direction: store.AMQPIn, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPProcessed}},
		{Direction: store.AMQPIn, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPRejected}},
		{Direction: store.AMQPIn, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPRefused}},
		{Direction: store.AMQPIn, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPDead}},
		{Direction: store.AMQPIn, Kinds: []string{store.AMQPBusiness}, Statuses: []string{store.AMQPQuarantined}},
	} {
		awaitMessage(t, d.a.db, want, out)
	}
	if text := out.String(); !strings.Contains(text, "/admin/amqp") {
		t.Errorf("printed %q", text)
	}
}

// TestDemoWithoutBroker wants to be told how to get a RabbitMQ, and all else to go on. What the demonstration relaxes is told too.
func TestDemoWithoutBroker(t *testing.T) {
	t.Parallel()
	needs.Full(t, "two whole programs")
	d, out := startDemo(t, t.TempDir(), newDemoBroker(t.TempDir()))
	if text := out.String(); !strings.Contains(text, "apt-get install rabbitmq-server") {
		t.Errorf("printed %q", text)
	}
	parties, err := d.a.db.AMQPParties(t.Context(), "")
	if err != nil || len(parties) != 0 {
		t.Errorf("%d parties, %v", len(parties), err)
	}
	if err := d.tell(t.Context(), cli.Streams{Out: out}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "For this demonstration") != 2 || !strings.Contains(text, "administrators need no second factor") || !strings.Contains(text, "less strict than rule SEC-02. How clients prove who they are: ") {
		t.Errorf("what is relaxed is not told: %q", text)
	}
}

// startDemo runs a demonstration until the test ends. Without a broker all is said when it returns.
func startDemo(t *testing.T, dir string, broker *demoBroker) (*demonstration, *trial.Log) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	d, err := buildDemo(ctx, DemoCmd{Addr: freeAddr(t), PartnerAddr: freeAddr(t)}, dir, broker, quiet(), cancel)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.seed(ctx); err != nil {
		t.Fatal(err)
	}
	var talks sync.WaitGroup
	t.Cleanup(func() {
		cancel(nil)
		talks.Wait()
		if err := d.stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := d.group.Start(ctx); err != nil {
		t.Fatal(err)
	}
	out := &trial.Log{}
	talks.Go(func() { d.dialogue(ctx, out, quiet()) })
	if !broker.found() {
		talks.Wait()
	}
	return d, out
}

// freeAddr is an address on this machine that nobody listened at a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	found, err := freeport.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strconv.Itoa(found[0])
}

// awaitMessage waits for a message; how long that takes decides nothing.
func awaitMessage(t *testing.T, db *store.DB, want store.AMQPFilter, out *trial.Log) {
	t.Helper()
	poll, giveUp := time.NewTicker(50*time.Millisecond), time.After(demoGiveUp)
	defer poll.Stop()
	for {
		n, err := db.CountAMQPMessages(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		select {
		case <-poll.C:
		case <-giveUp:
			all, _, err := db.AMQPMessages(t.Context(), store.AMQPFilter{})
			for _, m := range all {
				t.Logf("%s %s %s %s", m.Direction, m.Kind, m.Status, m.Detail)
			}
			t.Fatalf("no message %+v; %v; printed %q", want, err, out)
		}
	}
}
