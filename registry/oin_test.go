package registry

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// An OIN has twenty digits, of which the form is checked.
func TestCheckOIN(t *testing.T) {
	t.Parallel()
	for oin, want := range map[string]string{
		goodOIN:                 "",
		"00000001822477348000":  "",
		"00000004194049711000":  "",
		"00000003123456780000":  "",
		"00000099000000001000":  "",
		"0000000700025LX00000":  "",
		"":                      "Fill in",
		"003214345":             "looks like an RSIN",
		"12345678":              "looks like a KvK",
		"12345678901":           "exactly 20",
		"000000010032143450000": "exactly 20",
		"00000001003214346000":  "check digit",
		"00000001000000000000":  "missing",
		"00000000003214345000":  "name none",
		"10000001003214345000":  "name none",
		"0000000100321434500O":  "digits only",
		"0000000700025lx00000":  "digits only",
	} {
		got := CheckOIN(oin)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", oin, got, want)
		}
	}
}

func TestCheckNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, got string
		ok        bool
	}{
		{"no KvK", CheckKVK("", ""), true},
		{"KvK", CheckKVK("12345678", goodOIN), true},
		{"KvK of OIN", CheckKVK("12345678", "00000003123456780000"), true},
		{"KvK not of OIN", CheckKVK("12345679", "00000003123456780000"), false},
		{"short KvK", CheckKVK("1234567", ""), false},
		{"zero KvK", CheckKVK("00000000", ""), false},
		{"HER-id", CheckHerID("8142519"), true},
		{"no HER-id", CheckHerID(""), true},
		{"long HER-id", CheckHerID("123456789"), false},
		{"words", CheckHerID("abc"), false},
	} {
		if (tt.got == "") != tt.ok {
			t.Errorf("%s: %q", tt.name, tt.got)
		}
	}
}

func FuzzCheckOIN(f *testing.F) {
	f.Add(goodOIN, "12345678")
	f.Add("00000003", "1")
	f.Fuzz(func(t *testing.T, oin, kvk string) {
		if CheckOIN(oin) == "" && len(oin) != 20 {
			t.Errorf("%q is taken", oin)
		}
		if CheckKVK(kvk, oin) == "" && kvk != "" && !allDigits(kvk) {
			t.Errorf("%q is taken", kvk)
		}
	})
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for v, ok := range map[string]bool{
		"1.0.0": true, "0.0.1-rc.1": true, "1.2.3+build.5": true, "10.20.30-a-b.0+x": true,
		"": false, "1.0": false, "v1.0.0": false, "1.0.0-01": false, "01.0.0": false, "1.0.0 ": false, "latest": false, "1.0.0-": false,
	} {
		if got := checkVersion(v); (got == "") != ok {
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
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(versionSortKey(a), versionSortKey(b)) })
	if !slices.Equal(sorted, ordered) {
		t.Errorf("got %q", sorted)
	}
}

// Text order of the keys is the order of a semver library we did not write.
func FuzzVersionSortKey(f *testing.F) {
	f.Add("1.0.0-alpha.1", "1.0.0-alpha.10")
	f.Add("1.0.0+b", "1.0.0")
	f.Fuzz(func(t *testing.T, a, b string) {
		if checkVersion(a) != "" || checkVersion(b) != "" {
			return
		}
		want, got := semver.Compare("v"+a, "v"+b), strings.Compare(versionSortKey(a), versionSortKey(b))
		if want != 0 && want != got || a != b && got == 0 {
			t.Errorf("%q, %q: got %d, want %d", a, b, got, want)
		}
	})
}
