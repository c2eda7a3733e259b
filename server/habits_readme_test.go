package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"schakel/server/cli"

	"github.com/alecthomas/kong"
)

// guides are the README and the Markdown beside what it describes that the README leads to.
var guides = []string{
	"README.md", "server/operating.md", "registry/contracts/contract/pipelines.md", "delivery/mutation/datasets.md", "delivery/amqp/messages.md",
	".github/CONTRIBUTING.md", ".github/SECURITY.md",
}

// TestReadme holds what the guides say of flags, make targets and places
// against what there is.
func TestReadme(t *testing.T) {
	t.Parallel()
	var all CLI
	parser, err := cli.NewParser(&all, cli.Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{"--help": true}
	addFlags(flags, parser.Model.Children)
	for _, guide := range guides {
		checkGuide(t, guide, readGuide(t, guide), flags)
	}
	readme := readGuide(t, "README.md")
	if lines := strings.Count(readme, "\n"); lines > 200 {
		t.Errorf("README has %d lines: what is not for a first look belongs beside the feature", lines)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"demo", "run", "quick", "test", "e2e", "bench", "lint", "generate", "build"} {
		if !strings.Contains(readme, target) || !strings.Contains(string(makefile), "\n"+target+":") {
			t.Errorf("target %s is missing in the README or the Makefile", target)
		}
	}
}

// addFlags notes the flags of commands and of those below them.
func addFlags(flags map[string]bool, commands []*kong.Node) {
	for _, command := range commands {
		for _, flag := range command.Flags {
			flags["--"+flag.Name] = true
		}
		addFlags(flags, command.Children)
	}
}

// readGuide gives the text of a guide.
func readGuide(t *testing.T, guide string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, guide))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Flags and places as the guides name them, and where their links lead within the repository.
var (
	namedFlag  = regexp.MustCompile("`(--[a-z-]+)")
	namedPlace = regexp.MustCompile("`((?:server|web|templates|static|store|registry|delivery)/[a-z/_.]*)`")
	linked     = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

func checkGuide(t *testing.T, guide, text string, flags map[string]bool) {
	t.Helper()
	for _, flag := range namedFlag.FindAllStringSubmatch(text, -1) {
		if !flags[flag[1]] && !strings.HasPrefix(flag[1], "--s-") { // those are variables of the style sheets
			t.Errorf("%s names %s, which is no flag", guide, flag[1])
		}
	}
	for _, place := range namedPlace.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, place[1])); err != nil {
			t.Errorf("%s names %s, which is not there", guide, place[1])
		}
	}
	for _, link := range linked.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(link[1], "/") {
			continue // an address of the program
		}
		if _, err := os.Stat(filepath.Join(root, filepath.Dir(guide), link[1])); err != nil {
			t.Errorf("%s links to %s, which is not there", guide, link[1])
		}
	}
}
