// Package needs finds what tests need beyond Go: programs of others, and the folder of documents of other parties. A test
// that lacks one of them is skipped with what is missing and how to get it; with CI=true it fails, so that a run in which
// tests did not run is never taken for one in which they passed. Only tests and packages for tests may import it.
//
// A plain go test ./... is quick, and needs Go alone: tests on PostgreSQL, with a broker, of the whole program, and those that
// take long are skipped unless [AllVariable] is set, as make test does, or CI is "true".
package needs

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// SharedVariable names the folder of documents of other parties. Without it that folder is "shared" beside the repository.
// The value "none" states that this machine does not have the folder: tests that need it are skipped, with CI=true too.
const SharedVariable = "SCHAKEL_SHARED"

// AllVariable asks for all tests, with the value "all".
const AllVariable = "SCHAKEL_TEST"

// All reports whether everything is tested. Any value asks for that: nobody should take a run for a whole one because of a
// typing error.
func All() bool { return os.Getenv(AllVariable) != "" || os.Getenv("CI") == "true" }

// Full skips a test in a quick run, because of what it takes.
func Full(t testing.TB, takes string) {
	t.Helper()
	if !All() {
		t.Skipf("takes %s; %s=all runs it, as make test does", takes, AllVariable)
	}
}

// Unraced skips a test when the tests look for data races, because it has one goroutine, or measures memory; .ci/test runs it
// without that search too. Tests of packages that .ci/test only runs with it may not ask for this.
func Unraced(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("has no data races to find; .ci/test runs it without the search for them")
	}
}

// WholeProgram leaves out all tests of a binary in a quick run; go test then says that there were no tests to run. TestMain
// calls it before it runs the tests.
func WholeProgram() {
	if All() {
		return
	}
	if err := flag.Set("test.skip", "."); err != nil {
		panic(err)
	}
}

// prepared names the way to get the programs that .ci/prepare installs.
const prepared = ".ci/prepare installs it when run as root"

// Missing skips a test that lacks something, with a text on how to get it; with CI=true it fails the test.
func Missing(t testing.TB, what, how string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; %s; with CI=true this is a failure", what, how)
	}
	t.Skipf("%s; %s", what, how)
}

// Program gives the path of a program that .ci/prepare installs.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed", prepared)
	}
	return path
}

// Installed is Missing for what .ci/prepare installs and Program does not find, unless it is there.
func Installed(t testing.TB, what string, there bool) {
	t.Helper()
	if !there {
		Missing(t, what+" is not installed", prepared)
	}
}

// ProcessStatus needs /proc, to read the memory of a process.
func ProcessStatus(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		Missing(t, "this machine does not tell the memory of a process", "run the test on Linux")
	}
}

// Shared gives the path of a file or folder among the documents of other parties, such as "mutation", "DownloadApi.json".
func Shared(t testing.TB, path ...string) string {
	t.Helper()
	folder, declared := shared()
	if !declared {
		t.Skipf("%s=none: there are no documents of other parties here", SharedVariable)
	}
	name := filepath.Join(append([]string{folder, "data"}, path...)...)
	if _, err := os.Stat(name); err != nil {
		Missing(t, "no "+filepath.Join(append([]string{"shared", "data"}, path...)...)+" among the documents of other parties in "+folder,
			"lay them beside the repository, or name their folder in "+SharedVariable)
	}
	return name
}

// File reads a file among the documents of other parties.
func File(t testing.TB, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(Shared(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Files gives the paths of all files in a folder among the documents of other parties, at least one.
func Files(t testing.TB, folder ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Shared(t, folder...), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file in %v: %v", folder, err)
	}
	return files
}

// Has reports whether the documents of other parties are here, for benchmarks and seeds of fuzzing that do without them.
func Has() bool {
	folder, declared := shared()
	_, err := os.Stat(filepath.Join(folder, "data"))
	return declared && err == nil
}

func shared() (folder string, declared bool) {
	switch folder = os.Getenv(SharedVariable); folder {
	case "":
		return filepath.Join(Repository(), "..", "shared"), true
	case "none":
		return "", false
	}
	return folder, true
}

// Repository gives the root of the source tree, "." when a test runs outside it.
func Repository() string {
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
