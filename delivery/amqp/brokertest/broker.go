package brokertest

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

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

// shared holds the node of each version that the tests of a binary share. It ends with
// the binary.
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
	if err != nil {
		t.Fatal(err)
	}
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
