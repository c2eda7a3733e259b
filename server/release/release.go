// Package release identifies the build that runs and carries its changelog and upgrade notes.
//
// The linker sets version, commit, date and, for a release of what was tested, the day of that (see the Makefile); a build without them falls back on what
// the go command recorded of the repository, and reports version "dev". Nothing here reads a file or the network.
package release

import (
	"embed"
	"io/fs"
	"runtime/debug"
	"strings"
	"sync"

	"schakel/templates/i18n/texts"
)

// Set with -ldflags "-X schakel/server/release.version=…" and likewise for the others.
var version, commit, date, tested string

//go:embed CHANGELOG.md
var changelog []byte

//go:embed UPGRADING*.md
var upgrading embed.FS

// shortCommit is as many digits of a commit as git itself shows of a repository of this size, and some to spare.
const shortCommit = 12

// Build identifies a build. Commit and Date are empty where neither the linker nor the go command knew them.
type Build struct {
	Version string // such as "v1.2.0", or "dev"
	Commit  string // at most 12 hexadecimal digits
	Date    string // day of the commit, as 2006-01-02: the same commit built twice reports the same
	Tested  string // day on which all tests passed for this commit; empty when whoever built it did not say so
}

// Current gives the build that runs.
var Current = sync.OnceValue(func() Build {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	return describe(Build{version, commit, date, tested}, settings)
})

// describe completes what the linker was given with the settings that the go command recorded.
func describe(b Build, recorded map[string]string) Build {
	if b.Version == "" {
		b.Version = "dev"
	}
	if b.Commit == "" {
		b.Commit, b.Date = recorded["vcs.revision"], recorded["vcs.time"]
	}
	b.Commit = b.Commit[:min(len(b.Commit), shortCommit)]
	b.Date, _, _ = strings.Cut(b.Date, "T")
	return b
}

// String is one line, such as "v1.2.0 (commit 5b4afa0f2c11, 2026-11-22)", for people.
func (b Build) String() string {
	details := []string{}
	if b.Commit != "" {
		details = append(details, "commit "+b.Commit)
	}
	if b.Date != "" {
		details = append(details, b.Date)
	}
	if len(details) == 0 {
		return b.Version
	}
	return b.Version + " (" + strings.Join(details, ", ") + ")"
}

// Changelog gives the changes of each version as Markdown, newest first.
func Changelog() string { return string(texts.Unpack(changelog)) }

// Guides holds the upgrade notes, UPGRADING.md, and their translations.
func Guides() fs.FS { return upgrading }
