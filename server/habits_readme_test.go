package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestReadme holds what the README says of flags, make targets and places
// against what there is.
func TestReadme(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(raw)
	var cli CLI
	parser, err := newParser(&cli, Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{"--help": true}
	addFlags(flags, parser.Model.Children)
	for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(readme, -1) {
		if !flags[flag[1]] {
			t.Errorf("README names %s, which is no flag", flag[1])
		}
	}
	for _, place := range regexp.MustCompile("`((?:server|web|templates|static|store|registry|delivery)/[a-z/_.]*)`").FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join(root, place[1])); err != nil {
			t.Errorf("README names %s, which is not there", place[1])
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"demo", "run", "test", "e2e", "bench", "lint", "generate", "build"} {
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
