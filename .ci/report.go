// Command report reads the output of `go test -json` from standard input and prints
// what `go test` itself would: the output of what failed and a line a package.
// At the end it names each skipped test with its reason, and the slowest tests. It exits 1 when
// anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// report gathers what has to be said.
type report struct {
	output map[string][]string // lines of a test until it has ended
	skips  []string
	slow   []string // tests that took longer than slowTest, with the ones below them
	failed bool
}

// slowTest is the number of seconds from which a test is named. Tests that run beside others take longer than alone.
const slowTest = 45

func main() {
	r := report{output: map[string][]string{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text()) // not JSON: a message of the go command
			continue
		}
		r.take(e)
	}
	if len(r.skips) > 0 {
		fmt.Printf("not run: %s\n", strings.Join(r.skips, "; "))
	}
	if len(r.slow) > 0 {
		fmt.Printf("slowest: %s\n", strings.Join(r.slow, "; "))
	}
	if r.failed || lines.Err() != nil {
		os.Exit(1)
	}
}

func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	if e.Test != "" && e.Elapsed > slowTest {
		r.slow = append(r.slow, fmt.Sprintf("%s %.0f s", e.Test, e.Elapsed))
	}
	switch e.Action {
	case "output":
		r.line(e, key)
	case "build-output":
		fmt.Print(e.Output)
	case "build-fail":
		r.failed = true
	case "fail":
		r.failed = true
		r.show(e, key)
	case "pass":
		delete(r.output, key)
	case "skip":
		if e.Test != "" {
			r.skips = append(r.skips, e.Test+" ("+reason(r.output[key])+")")
		}
		delete(r.output, key)
	}
}

// line keeps the output of a test for when it fails; that of a package is shown at once.
func (r *report) line(e event, key string) {
	switch {
	case strings.HasPrefix(e.Output, "=== "):
	case e.Test != "":
		r.output[key] = append(r.output[key], e.Output)
	case e.Output != "PASS\n" && !strings.Contains(e.Output, "[no test files]"):
		fmt.Print(e.Output)
	}
}

// show prints what a failed test wrote; of a failed package all that is left,
// which is that of the tests that were running when it broke off.
func (r *report) show(e event, key string) {
	for k, lines := range r.output {
		if k == key || e.Test == "" && strings.HasPrefix(k, e.Package+" ") {
			fmt.Print(strings.Join(lines, ""))
			delete(r.output, k)
		}
	}
}

// reason returns what the test printed when it was skipped: "file.go:12: why".
func reason(lines []string) string {
	for _, l := range lines {
		if _, why, ok := strings.Cut(strings.TrimSpace(l), ".go:"); ok {
			_, why, _ = strings.Cut(why, ": ")
			return why
		}
	}
	return "no reason given"
}
