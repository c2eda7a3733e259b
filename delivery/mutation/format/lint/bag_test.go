package lint_test

import (
	"os"
	"strings"
	"testing"

	"schakel/delivery/mutation/format/lint"
)

// TestBAG2 judges a delivery as BAG 2.0 has them: of namespace 1.0, with bagInfo before the message, without object types, and
// without ids on states. That is normal and no finding; a problem inside one is still a finding.
//
// Rules: MUT-19, MUT-61, MUT-64.
func TestBAG2(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/bag2.xml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"as it is":                 {"", "", ""},
		"the year after":           {"/v20200601\" xmlns:Hist", "/v20210601\" xmlns:Hist", ""},
		"ends before it begins":    {"<Historie:eindGeldigheid>2022", "<Historie:eindGeldigheid>2020", "dates"},
		"unreadable geometry":      {"1010 2010 0 1000 2010 0", "x", "geometry"},
		"empty group":              {"<ml:mutatieGroep>", "<ml:mutatieGroep/><ml:mutatieGroep>", "empty-group"},
		"another element":          {"bagInfo", "bagNieuws", "schema"},
		"no leveringsId":           {"<ml:leveringsId>0000000001</ml:leveringsId>", "", "schema"},
		"no BAG 2.0":               {"schemas/lvbag/extract-deelbestand-mutaties-lvc", "schemas/x", "old-namespace schema schema no-id no-id"},
		"a was without an object ": {"<ml:was><mlm:bagObject>", "<ml:was/><ml:was><mlm:bagObject>", "unreadable"},
	} {
		var got []string
		for _, f := range check(t, lint.Options{}, strings.ReplaceAll(string(raw), orNever(c.old), c.new)).Findings {
			got = append(got, string(f.Rule))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// orNever is text to replace, none of which is in any file when it is empty.
func orNever(text string) string {
	if text == "" {
		return "\x00"
	}
	return text
}
