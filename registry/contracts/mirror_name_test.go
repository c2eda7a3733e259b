package contracts

import (
	"strings"
	"testing"
)

func TestCopyNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"1.0.0": "1.0.0", "v1.2.3": "1.2.3", "2": "2.0.0", "2.1": "2.1.0", "v3": "3.0.0", "1-rc": "1-rc", "x": "x", "": "", "1.0.0-rc.1": "1.0.0-rc.1"} {
		if got := copyVersion(in); got != want {
			t.Errorf("version %q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"students": "noord-students", "My Group/API v2": "noord-my-group-api-v2", "": "", "日本": ""} {
		ids := copyIDs("noord", "mir_1", in)
		if want != "" && ids[0] != want {
			t.Errorf("id of %q is %v", in, ids)
		}
		for _, id := range append(ids, copyIDs(strings.Repeat("p", maxMirrorPrefix), "mir_1", strings.Repeat("long/", 60))...) {
			if text := checkContractID(id); text != "" {
				t.Errorf("id %q: %s", id, text)
			}
		}
	}
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{{"a", "a", true}, {"a", "ab", false}, {"a*", "a/b", true}, {"*b*", "abc", true}, {"a*a", "a", false}, {"*", "", true}, {"a*c*e", "abcde", true}, {"a*c*e", "abde", false}} {
		if fitsPattern(c.pattern, c.id) != c.want {
			t.Errorf("pattern %q and %q", c.pattern, c.id)
		}
	}
}
