package needs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"schakel/store/needs"
)

// probe is a test that records how it ends instead of ending.
type probe struct {
	testing.TB
	verdict, text string
}

// ended unwinds a probe, as Fatalf and Skipf unwind a test.
type ended struct{}

func (p *probe) Helper() {}

func (p *probe) end(verdict, format string, args ...any) {
	p.verdict, p.text = verdict, fmt.Sprintf(format, args...)
	panic(ended{})
}

func (p *probe) Fatalf(format string, args ...any) { p.end("failed", format, args...) }
func (p *probe) Skipf(format string, args ...any)  { p.end("skipped", format, args...) }

// run gives how a test ends that needs something.
func run(need func(testing.TB)) (p *probe) {
	p = &probe{verdict: "ran"}
	defer func() {
		if r := recover(); r != nil && r != (ended{}) {
			panic(r)
		}
	}()
	need(p)
	return p
}

// TestMissing has a test need what is there and what is not, in and outside CI.
func TestMissing(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "data", "mutation"), 0o700); err != nil {
		t.Fatal(err)
	}
	there := func(t testing.TB) { needs.Shared(t, "mutation") }
	absent := func(t testing.TB) { needs.File(t, "mutation", "no-such.xml") }
	program := func(t testing.TB) { needs.Program(t, "no-such-program") }
	for _, c := range []struct {
		name, ci, shared string
		need             func(testing.TB)
		verdict, text    string
	}{
		{"there", "true", folder, there, "ran", ""},
		{"file outside CI", "", folder, absent, "skipped", "no shared/data/mutation/no-such.xml"},
		{"file in CI", "true", folder, absent, "failed", "SCHAKEL_SHARED"},
		{"folder in CI", "true", filepath.Join(folder, "gone"), there, "failed", "no shared/data/mutation"},
		{"declared absent in CI", "true", "none", there, "skipped", "SCHAKEL_SHARED=none"},
		{"program outside CI", "", folder, program, "skipped", "no-such-program is not installed; .ci/prepare installs it"},
		{"program in CI", "true", folder, program, "failed", "no-such-program is not installed; .ci/prepare installs it"},
		{"program, folder declared absent", "true", "none", program, "failed", "no-such-program"},
		{"package in CI", "true", folder, func(t testing.TB) { needs.Installed(t, "rhea", false) }, "failed", "rhea is not installed"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv(needs.SharedVariable, c.shared)
		if p := run(c.need); p.verdict != c.verdict || !strings.Contains(p.text, c.text) {
			t.Errorf("%s: %s: %s", c.name, p.verdict, p.text)
		}
	}
}

// TestFull runs what takes long only when everything is tested.
func TestFull(t *testing.T) {
	for _, c := range []struct{ ci, all, verdict string }{
		{"", "", "skipped"}, {"", "all", "ran"}, {"", "al", "ran"}, {"true", "", "ran"}, {"false", "", "skipped"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv(needs.AllVariable, c.all)
		p := run(func(t testing.TB) { needs.Full(t, "a broker") })
		if p.verdict != c.verdict || p.verdict == "skipped" && p.text != "takes a broker; SCHAKEL_TEST=all runs it, as make test does" {
			t.Errorf("%+v: %s: %s", c, p.verdict, p.text)
		}
	}
}

// TestWholeProgram leaves out a binary's tests in a quick run alone. The pattern was read when this binary began, so setting it
// leaves out nothing here.
func TestWholeProgram(t *testing.T) {
	skip := flag.Lookup("test.skip").Value
	given := skip.String()
	t.Cleanup(func() { _ = skip.Set(given) })
	t.Setenv("CI", "")
	for all, want := range map[string]string{"all": given, "": "."} {
		t.Setenv(needs.AllVariable, all)
		_ = skip.Set(given)
		if needs.WholeProgram(); skip.String() != want {
			t.Errorf("%q: leaves out %q, want %q", all, skip, want)
		}
	}
}

// TestBesideTheRepository wants the folder looked for beside the repository when nothing names it.
func TestBesideTheRepository(t *testing.T) {
	t.Setenv("CI", "true")
	t.Setenv(needs.SharedVariable, "")
	want, err := filepath.Abs(filepath.Join("..", "..", "..", "shared"))
	if err != nil {
		t.Fatal(err)
	}
	p := run(func(t testing.TB) { needs.Shared(t, "no-such-folder") })
	if p.verdict != "failed" || !strings.Contains(p.text, want) {
		t.Errorf("%s: %s", p.verdict, p.text)
	}
}
