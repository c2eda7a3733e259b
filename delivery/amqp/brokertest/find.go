package brokertest

import (
	"os"
	"path/filepath"

	"schakel/delivery/amqp/rabbitmq"
	"schakel/store/needs"
)

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
	switch {
	case err != nil:
		return i, err.Error()
	}
	return i, ""
}
