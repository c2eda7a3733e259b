package release

import (
	"regexp"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	recorded := map[string]string{"vcs.revision": "0123456789abcdef0123", "vcs.time": "2026-11-20T23:59:00Z"}
	for name, tt := range map[string]struct {
		linked   Build
		recorded map[string]string
		want     string
	}{
		"nothing known":     {Build{}, nil, "dev"},
		"by the go command": {Build{}, recorded, "dev (commit 0123456789ab, 2026-11-20)"},
		"by the linker":     {Build{"v1.2.0", "fedcba9876543210", "2026-11-22", ""}, recorded, "v1.2.0 (commit fedcba987654, 2026-11-22)"},
		"a version alone":   {Build{Version: "v1.2.0"}, nil, "v1.2.0"},
	} {
		if got := describe(tt.linked, tt.recorded).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestChangelogForm holds the changelog to the headings that Keep a Changelog names, so that programs can read it.
func TestChangelogForm(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`^## (\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2})$`)
	kind := regexp.MustCompile(`^### (Added|Changed|Deprecated|Removed|Fixed|Security)$`)
	versions := 0
	for n, line := range strings.Split(Changelog(), "\n") {
		switch {
		case strings.HasPrefix(line, "### "):
			if !kind.MatchString(line) {
				t.Errorf("line %d: %q is no kind of change", n+1, line)
			}
		case strings.HasPrefix(line, "## "):
			versions++
			if !version.MatchString(line) || versions == 1 && line != "## [Unreleased]" {
				t.Errorf("line %d: %q: the newest is [Unreleased], the others are [version] - date", n+1, line)
			}
		}
	}
	if versions == 0 || !strings.HasPrefix(Changelog(), "# Changelog\n") {
		t.Error("the changelog has no title or no version")
	}
}
