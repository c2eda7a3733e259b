package brokertest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"schakel/delivery/amqp/rabbitmq"
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
	i, err := rabbitmq.Find(v, os.Getenv("SCHAKEL_RABBITMQ4_ROOT"), filepath.Join(repository(), ".cache", "rabbitmq4"))
	switch {
	case errors.Is(err, rabbitmq.ErrAbsent):
		return i, err.Error() + "; .ci/prepare installs it when run as root"
	case err != nil:
		return i, err.Error()
	}
	return i, ""
}

// repository gives the root of the source tree, "." when a test runs outside it.
func repository() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "."
		}
		dir = parent
	}
}

// need gives the path of a program, or skips the test.
func need(t testing.TB, program, how string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		unable(t, program+" is not installed; "+how)
	}
	return path
}

// unable skips a test for want of something; under CI that is a failure.
func unable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
