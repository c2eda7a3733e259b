package rabbitmq

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"schakel/delivery/amqp/link"
)

// Version is which RabbitMQ a node runs.
type Version string

// The versions.
const (
	Version4   Version = "4"    // of Debian 13, in a root of its own on an older Debian
	Version310 Version = "3.10" // of Debian 12, with the plugin rabbitmq_amqp1_0
)

// Versions lists all versions, the newest first.
func Versions() []Version { return []Version{Version4, Version310} }

// Dialect is the dialect such a node speaks.
func (v Version) Dialect() link.Dialect {
	if v == Version4 {
		return link.RabbitMQ4()
	}
	return link.RabbitMQ310()
}

func (v Version) plugins() string {
	if v == Version4 {
		return "[rabbitmq_management,rabbitmq_auth_mechanism_ssl].\n"
	}
	return "[rabbitmq_amqp1_0,rabbitmq_management,rabbitmq_auth_mechanism_ssl].\n"
}

// programs gives the folder of a version's programs, in its root.
func (v Version) programs() string {
	if v == Version4 {
		return "/usr/lib/rabbitmq/lib/rabbitmq_server-4.*/sbin"
	}
	return "/usr/lib/rabbitmq/lib/rabbitmq_server-3.*/sbin"
}

// Installation is a RabbitMQ that was found.
type Installation struct {
	Version  Version
	Root     string // of the file system it lives in; empty for this machine's own
	Programs string // the folder of its programs inside the root
}

// Why an installation cannot be used.
var (
	ErrAbsent    = errors.New("is not on this machine")
	ErrNeedsRoot = errors.New("can only be run by root")
)

// Find looks for a version: among the packages of this machine, then in roots, folders that hold a whole Debian with it; empty
// ones are passed over. Errors wrap ErrAbsent or ErrNeedsRoot.
func Find(v Version, roots ...string) (Installation, error) {
	needsRoot := ""
	for i, root := range append([]string{""}, roots...) {
		found, _ := filepath.Glob(root + v.programs()) // the pattern is sound
		switch {
		case len(found) == 0 || i > 0 && !trusted(root):
		case root != "" && os.Geteuid() != 0:
			needsRoot = root
		default:
			return Installation{v, root, found[0][len(root):]}, nil
		}
	}
	if needsRoot != "" {
		return Installation{}, fmt.Errorf("RabbitMQ %s in %s %w", v, needsRoot, ErrNeedsRoot)
	}
	return Installation{}, fmt.Errorf("RabbitMQ %s %w", v, ErrAbsent)
}

// trusted reports whether a root is one that root itself made: its programs are run as root.
func trusted(root string) bool {
	info, err := os.Stat(root)
	if err != nil || !filepath.IsAbs(root) {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == 0
}
