package brokertest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/rabbitmq"
	"schakel/store/needs"
)

// The user every node has, with all rights.
const (
	User     = rabbitmq.User
	Password = rabbitmq.Password
)

// Certificates identify a node on its TLS port.
type Certificates = rabbitmq.Certificates

// Broker is a running node.
type Broker struct {
	URL     string // amqp://127.0.0.1:port
	TLSURL  string // amqps://127.0.0.1:port, "" for a node without certificates
	API     string // http://127.0.0.1:port/api of the management plugin
	Version Version
	node    *rabbitmq.Node
}

// shared holds the node of each version that the tests of a binary share. It ends with the binary.
var shared [2]struct {
	once   sync.Once
	broker *Broker
	err    error
}

// lastParty makes HER-ids unique within a test binary.
var lastParty atomic.Int64

// Start gives the node of a version that all tests of the binary share; they keep
// apart by HER-ids of their own (see NewParty). It must not be killed or stopped.
func Start(t testing.TB, v Version) *Broker {
	t.Helper()
	requireVersion(t, v)
	slot := &shared[0]
	if v == RabbitMQ310 {
		slot = &shared[1]
	}
	slot.once.Do(func() { slot.broker, slot.err = start(v, nil) })
	if slot.err != nil {
		t.Fatal(slot.err)
	}
	return slot.broker
}

// StartOwn gives a node of the test's own, which it may kill, stop and start again. It
// ends with the test. certificates may be nil for a node without TLS.
func StartOwn(t testing.TB, v Version, certificates *Certificates) *Broker {
	t.Helper()
	requireVersion(t, v)
	b, err := start(v, certificates)
	must(t, err)
	t.Cleanup(func() { _ = b.node.End() })
	return b
}

func requireVersion(t testing.TB, v Version) {
	t.Helper()
	needs.Full(t, "a broker")
	if _, why := find(v); why != "" {
		needs.Missing(t, why, ".ci/prepare installs it when run as root")
	}
}

func start(v Version, certificates *Certificates) (*Broker, error) {
	i, _ := find(v)
	n, err := rabbitmq.Launch(i, "", certificates)
	if err != nil {
		return nil, err
	}
	return &Broker{URL: n.URL, TLSURL: n.TLSURL, API: n.API, Version: v, node: n}, nil
}

// Config gives the configuration of a connection to the node.
func (b *Broker) Config() link.Config {
	return link.Config{URL: b.URL, Dialect: b.Version.Dialect(), Username: User, Password: Password}
}

// Kill9 ends the node as a power cut would: what it did not write is gone.
func (b *Broker) Kill9(t testing.TB) { must(t, b.node.Kill()) }

// Stop ends the node in order; its queues stay.
func (b *Broker) Stop(t testing.TB) { must(t, b.node.Stop()) }

// Restart starts the node again after Kill9 or Stop, on the same ports.
func (b *Broker) Restart(t testing.TB) { must(t, b.node.Start()) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Version is which RabbitMQ a node runs.
type Version = rabbitmq.Version

// The versions.
const (
	RabbitMQ4   = rabbitmq.Version4
	RabbitMQ310 = rabbitmq.Version310
)

// Versions lists all versions, for tests that hold on each.
func Versions() []Version { return rabbitmq.Versions() }

// find looks for a version on this machine, and tells why it cannot be run.
func find(v Version) (i rabbitmq.Installation, why string) {
	i, err := rabbitmq.Find(v, os.Getenv("SCHAKEL_RABBITMQ4_ROOT"), filepath.Join(needs.Repository(), ".cache", "rabbitmq4"))
	if err != nil {
		return i, err.Error()
	}
	return i, ""
}

// giveUp ends the wait of a test for what must come; nothing depends on it but the end of a failing test.
const giveUp = 3 * time.Minute

// Party is a party of the exchange with its queues.
type Party = rabbitmq.Party

// NewParty makes the queues of a HER-id that no other test of the binary has.
func (b *Broker) NewParty(t testing.TB) Party {
	t.Helper()
	return b.Party(t, 100_000+int(lastParty.Add(1)))
}

// Party makes the queues of a HER-id, as [rabbitmq.Node.Party] does.
func (b *Broker) Party(t testing.TB, herID int) Party {
	t.Helper()
	p, err := b.node.Party(lasting(t), herID)
	must(t, err)
	return p
}

// Queue makes a durable queue.
func (b *Broker) Queue(t testing.TB, name string, arguments map[string]any) {
	t.Helper()
	must(t, b.node.Queue(lasting(t), name, arguments))
}

// DeleteQueue takes a queue away.
func (b *Broker) DeleteQueue(t testing.TB, name string) {
	t.Helper()
	b.call(t, http.MethodDelete, rabbitmq.QueuePath(name), nil)
}

// Exchange makes a direct exchange and binds queues to it under their names.
func (b *Broker) Exchange(t testing.TB, name string, queues ...string) {
	t.Helper()
	b.call(t, http.MethodPut, "/exchanges/%2F/"+url.PathEscape(name), map[string]any{"type": "direct", "durable": true})
	for _, queue := range queues {
		b.call(t, http.MethodPost, "/bindings/%2F/e/"+url.PathEscape(name)+"/q/"+url.PathEscape(queue), map[string]any{"routing_key": queue})
	}
}

// User makes a user with a password ("" for one that logs in by certificate) and
// regular expressions of what it may write and read.
func (b *Broker) User(t testing.TB, name, password, write, read string) {
	t.Helper()
	user := map[string]any{"tags": "", "password": password}
	if password == "" {
		user = map[string]any{"tags": "", "password_hash": ""}
	}
	b.call(t, http.MethodPut, "/users/"+url.PathEscape(name), user)
	b.call(t, http.MethodPut, "/permissions/%2F/"+url.PathEscape(name), map[string]any{"configure": "^$", "write": write, "read": read})
}

// Queues lists the names of all queues.
func (b *Broker) Queues(t testing.TB) []string {
	t.Helper()
	var all []struct{ Name string }
	decode(t, b.call(t, http.MethodGet, "/queues?columns=name", nil), &all)
	names := make([]string, len(all))
	for i, q := range all {
		names[i] = q.Name
	}
	return names
}

// AwaitQueues waits until the node has these queues. A node that was killed takes
// connections before its management plugin lists all queues that it recovers.
func (b *Broker) AwaitQueues(t testing.TB, want ...string) {
	t.Helper()
	until := time.Now().Add(giveUp)
	for {
		got := b.Queues(t)
		if !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(got, name) }) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the node has the queues %q, want %q", got, want)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// Depth gives how many messages a queue holds, as the node counted them within the last half second.
func (b *Broker) Depth(t testing.TB, queue string) int {
	t.Helper()
	var q struct{ Messages int }
	decode(t, b.call(t, http.MethodGet, rabbitmq.QueuePath(queue), nil), &q)
	return q.Messages
}

// AwaitDepth waits until a queue holds so many messages.
func (b *Broker) AwaitDepth(t testing.TB, queue string, want int) {
	t.Helper()
	until := time.Now().Add(giveUp)
	for got := -1; got != want; {
		if got = b.Depth(t, queue); got != want && time.Now().After(until) {
			t.Fatalf("queue %s holds %d messages, want %d", queue, got, want)
		}
		if got != want {
			<-time.After(100 * time.Millisecond)
		}
	}
}

func (b *Broker) call(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	answer, err := b.node.Call(lasting(t), method, path, body)
	must(t, err)
	return answer
}

// lasting is a context that the clean-up of a test may use too.
func lasting(t testing.TB) context.Context { return context.WithoutCancel(t.Context()) }

func decode(t testing.TB, from []byte, into any) {
	t.Helper()
	must(t, json.Unmarshal(from, into))
}

// CloseOf ends the client connections of one user from the node's side, as an operator
// would, and waits until there is at least one.
func (b *Broker) CloseOf(t testing.TB, user string) {
	t.Helper()
	for closed, until := 0, time.Now().Add(giveUp); closed == 0; {
		var all []struct{ Name, User string }
		decode(t, b.call(t, http.MethodGet, "/connections?columns=name,user", nil), &all)
		for _, c := range all {
			if c.User == user {
				closed++
				b.call(t, http.MethodDelete, "/connections/"+url.PathEscape(c.Name), nil)
			}
		}
		if closed == 0 && time.Now().After(until) {
			t.Fatalf("%s has no connections", user)
		}
		if closed == 0 {
			<-time.After(100 * time.Millisecond)
		}
	}
}
