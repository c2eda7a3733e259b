package partners

import (
	"strings"
	"testing"

	"schakel/registry"
	"schakel/templates/i18n"
)

// An OIN has twenty digits, of which the form is checked.
func TestCheckOIN(t *testing.T) {
	t.Parallel()
	for oin, want := range map[string]string{
		"00000001003214345000":  "",
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
		if (want == "") != (got == "") || !strings.Contains(got.String(), want) {
			t.Errorf("%q: got %q, want %q", oin, got, want)
		}
	}
}

func TestCheckNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		got  i18n.Message
		ok   bool
	}{
		{"no KvK", CheckKVK("", ""), true},
		{"KvK", CheckKVK("12345678", "00000001003214345000"), true},
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
	f.Add("00000001003214345000", "12345678")
	f.Add("00000003", "1")
	f.Fuzz(func(t *testing.T, oin, kvk string) {
		if CheckOIN(oin) == "" && len(oin) != 20 {
			t.Errorf("%q is taken", oin)
		}
		if CheckKVK(kvk, oin) == "" && kvk != "" && !registry.AllDigits(kvk) {
			t.Errorf("%q is taken", kvk)
		}
	})
}
