package compare

import (
	"reflect"
	"testing"

	"schakel/templates/i18n"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	breaking, warning, info := Change{Level: Breaking}, Change{Level: Warning}, Change{Level: Info}
	words := Change{Level: Info, Code: documentationChanged}
	for _, tt := range []struct {
		old     string
		changes []Change
		want    string
	}{
		{"1.2.3", nil, "1.2.4"},
		{"1.2.3", []Change{words}, "1.2.4"},
		{"1.2.3", []Change{words, info}, "1.3.0"},
		{"1.2.3", []Change{warning}, "1.3.0"},
		{"1.2.3", []Change{info, breaking}, "2.0.0"},
		{"v1.2.3", []Change{breaking}, "2.0.0"},
		{"0.4.1", []Change{breaking}, "1.0.0"},
		{"2.0.0-rc.1", []Change{breaking}, "2.0.0"},
		{"2.1.0-rc.1", []Change{breaking}, "3.0.0"},
		{"2.1.0-rc.1+b", []Change{info}, "2.1.0"},
		{"2.1.1-rc.1", []Change{info}, "2.2.0"},
		{"2.1.1-rc.1", nil, "2.1.1"},
		{"2024-01", []Change{info}, ""},
		{"1.2", nil, ""},
		{"99999999999999999999.0.0", nil, ""},
		{"", nil, ""},
	} {
		if got := Suggest(tt.old, tt.changes); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.old, tt.changes, got, tt.want)
		}
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	if got := Worst(nil); got != "" {
		t.Errorf("none: %q", got)
	}
	if got := Worst([]Change{{Level: Info}, {Level: Breaking}, {Level: Warning}}); got != Breaking {
		t.Errorf("got %q", got)
	}
}

func TestGroupByCause(t *testing.T) {
	t.Parallel()
	groups := GroupByCause([]Change{
		{Level: Info, Cause: "/a/x", Subjects: []i18n.Message{"s"}},
		{Level: Warning, Cause: "/channels/c/messages/m", Subjects: []i18n.Message{"s", "t"}, EventTypes: []string{"e"}},
		{Level: Breaking, Cause: "/paths/~1p/get", Subjects: []i18n.Message{"s"}},
		{Level: Info, Cause: "/channels/c/messages/m", Subjects: []i18n.Message{"t"}, EventTypes: []string{"d", "e"}},
		{Level: Info},
	})
	var said []string
	for _, g := range groups {
		said = append(said, g.Text.String())
	}
	wanted := []string{
		"The operation GET /p: 1 breaking.", "The message m of channel c: 1 warning, 1 info, in 2 places.", "The document: 1 info.", "The a x: 1 info.",
	}
	if !reflect.DeepEqual(said, wanted) {
		t.Errorf("got %q", said)
	}
	if g := groups[1]; g.Level != Warning || !reflect.DeepEqual(g.EventTypes, []string{"d", "e"}) || len(g.Changes) != 2 {
		t.Errorf("got %+v", g)
	}
}

func TestKindChanged(t *testing.T) {
	t.Parallel()
	changes, err := compareDocuments(parse(t, document("paths: {}")), parse(t, events("send", "{}")))
	must(t, err)
	want(t, "kind", changes, "breaking kind-changed /asyncapi both")
	if _, err := compareDocuments(nil, nil); err == nil {
		t.Error("no document is a fault of the program")
	}
}
