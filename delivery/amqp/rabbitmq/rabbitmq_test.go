package rabbitmq_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/delivery/amqp/rabbitmq"
	"schakel/store/needs"
)

// TestFind looks for a version that no package of this machine has, in roots.
func TestFind(t *testing.T) {
	t.Parallel()
	if i, err := rabbitmq.Find(rabbitmq.Version4); err == nil && i.Root == "" {
		t.Skip("RabbitMQ 4 is a package of this machine, which is found before any root")
	}
	root := t.TempDir()
	programs := "/usr/lib/rabbitmq/lib/rabbitmq_server-4.9.9/sbin"
	for _, c := range []struct {
		name  string
		roots []string
	}{
		{"none", nil},
		{"empty", []string{""}},
		{"nothing in it", []string{t.TempDir()}},
		{"relative", []string{"somewhere"}},
	} {
		if _, err := rabbitmq.Find(rabbitmq.Version4, c.roots...); !errors.Is(err, rabbitmq.ErrAbsent) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	must(t, os.MkdirAll(filepath.Join(root, programs), 0o700))
	i, err := rabbitmq.Find(rabbitmq.Version4, "", root)
	switch {
	case os.Geteuid() == 0 && (err != nil || i != rabbitmq.Installation{Version: rabbitmq.Version4, Root: root, Programs: programs}):
		t.Errorf("%+v, %v", i, err)
	case os.Geteuid() != 0 && !errors.Is(err, rabbitmq.ErrAbsent): // a root that root did not make
		t.Errorf("%+v, %v", i, err)
	}
}

// TestEndWhileStarting ends a node that is not there yet: nothing of it stays.
func TestEndWhileStarting(t *testing.T) {
	t.Parallel()
	node := prepare(t)
	started := make(chan error, 1)
	go func() { started <- node.Start() }()
	if err := node.End(); err != nil {
		t.Error(err)
	}
	<-started // it may have been just in time
	address := strings.TrimPrefix(node.URL, "amqp://")
	if c, err := net.Dial("tcp", address); err == nil {
		t.Errorf("something still listens at %s", c.RemoteAddr())
	}
}

// TestFolderGoes wants no folder to stay behind.
func TestFolderGoes(t *testing.T) {
	t.Parallel()
	i := installation(t)
	if i.Root != "" {
		t.Skip("RabbitMQ lives in a root of its own, and has its folder there")
	}
	dir := t.TempDir()
	node, err := rabbitmq.New(i, dir, nil)
	must(t, err)
	if found, _ := filepath.Glob(dir + "/*"); len(found) != 1 {
		t.Errorf("folder of the node: %v", found)
	}
	must(t, node.End())
	if found, _ := filepath.Glob(dir + "/*"); len(found) != 0 {
		t.Errorf("left behind: %v", found)
	}
}

// TestFolderInRoot wants the folder of a node in the root where it runs, wherever TMPDIR points.
func TestFolderInRoot(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	must(t, os.Mkdir(filepath.Join(root, "tmp"), 0o700))
	node, err := rabbitmq.New(rabbitmq.Installation{Version: rabbitmq.Version4, Root: root}, "", nil)
	must(t, err)
	if found, _ := filepath.Glob(root + "/tmp/*"); len(found) != 1 {
		t.Errorf("folder of the node: %v", found)
	}
	must(t, node.End())
}

func prepare(t *testing.T) *rabbitmq.Node {
	t.Helper()
	node, err := rabbitmq.New(installation(t), "", nil)
	must(t, err)
	return node
}

func installation(t *testing.T) rabbitmq.Installation {
	t.Helper()
	needs.Full(t, "a broker")
	for _, v := range []rabbitmq.Version{rabbitmq.Version310, rabbitmq.Version4} {
		i, err := rabbitmq.Find(v, os.Getenv("SCHAKEL_RABBITMQ4_ROOT"))
		if err == nil {
			return i
		}
	}
	needs.Installed(t, "RabbitMQ", false)
	return rabbitmq.Installation{}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
