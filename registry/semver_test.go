package registry

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for v, ok := range map[string]bool{
		"1.0.0": true, "0.0.1-rc.1": true, "1.2.3+build.5": true, "10.20.30-a-b.0+x": true,
		"": false, "1.0": false, "v1.0.0": false, "1.0.0-01": false, "01.0.0": false, "1.0.0 ": false, "latest": false, "1.0.0-": false,
	} {
		if got := CheckVersion(v); (got == "") != ok {
			t.Errorf("%q: %q", v, got)
		}
	}
}

func TestVersionSortKey(t *testing.T) {
	t.Parallel()
	ordered := []string{
		"0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-A", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-alpha-1",
		"1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0", "10.0.0",
	}
	sorted := slices.Clone(ordered)
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(VersionSortKey(a), VersionSortKey(b)) })
	if !slices.Equal(sorted, ordered) {
		t.Errorf("got %q", sorted)
	}
}

// Text order of the keys is the order of a semver library we did not write.
func FuzzVersionSortKey(f *testing.F) {
	f.Add("1.0.0-alpha.1", "1.0.0-alpha.10")
	f.Add("1.0.0+b", "1.0.0")
	f.Fuzz(func(t *testing.T, a, b string) {
		if CheckVersion(a) != "" || CheckVersion(b) != "" {
			return
		}
		want, got := semver.Compare("v"+a, "v"+b), strings.Compare(VersionSortKey(a), VersionSortKey(b))
		if want != 0 && want != got || a != b && got == 0 {
			t.Errorf("%q, %q: got %d, want %d", a, b, got, want)
		}
	})
}
