package brokertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"schakel/delivery/amqp/link"
)

// Version is which RabbitMQ a node runs.
type Version string

// The versions.
const (
	RabbitMQ4   Version = "4"    // of Debian 13, in a root of its own on an older Debian
	RabbitMQ310 Version = "3.10" // of Debian 12, with the plugin rabbitmq_amqp1_0
)

// Versions lists all versions, for tests that hold on each.
func Versions() []Version { return []Version{RabbitMQ4, RabbitMQ310} }

// Dialect is the dialect such a node speaks.
func (v Version) Dialect() link.Dialect {
	if v == RabbitMQ4 {
		return link.RabbitMQ4()
	}
	return link.RabbitMQ310()
}

func (v Version) plugins() string {
	if v == RabbitMQ4 {
		return "[rabbitmq_management,rabbitmq_auth_mechanism_ssl].\n"
	}
	return "[rabbitmq_amqp1_0,rabbitmq_management,rabbitmq_auth_mechanism_ssl].\n"
}

// find gives the root a version lives in, "" for this machine's own, and the folder of
// its programs inside that root.
func (v Version) find() (root, programs string, ok bool) {
	pattern := "/usr/lib/rabbitmq/lib/rabbitmq_server-3.*/sbin"
	roots := []string{""}
	if v == RabbitMQ4 {
		pattern = "/usr/lib/rabbitmq/lib/rabbitmq_server-4.*/sbin"
		roots = append(roots, os.Getenv("SCHAKEL_RABBITMQ4_ROOT"), filepath.Join(repository(), ".cache", "rabbitmq4"))
	}
	for i, root := range roots {
		found, _ := filepath.Glob(root + pattern)
		if len(found) > 0 && (i == 0 || root != "") {
			return root, found[0][len(root):], true
		}
	}
	return "", "", false
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

// Found tells whether a version is on this machine and may be run, and if not why.
func (v Version) Found() (why string, ok bool) {
	root, _, found := v.find()
	switch {
	case !found:
		return "RabbitMQ " + string(v) + " is not on this machine; .ci/prepare installs it when run as root", false
	case root != "" && os.Geteuid() != 0:
		return "only root can run RabbitMQ " + string(v) + " in its root " + root, false
	}
	return "", true
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
