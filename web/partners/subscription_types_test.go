package partners

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"schakel/registry"
	"schakel/store"
)

func TestChosenTypes(t *testing.T) {
	t.Parallel()
	types, versions, wrong := chosenTypes([]string{"nl.a@2", "nl.b", "nl.c@0.3", "@x"})
	if !slices.Equal(types, []string{"nl.a", "nl.b", "nl.c", "@x"}) || !maps.Equal(versions, map[string]string{"nl.a": "2", "nl.c": "0.3"}) || wrong != "" {
		t.Errorf("types %v, versions %v, %s", types, versions, wrong)
	}
	if _, _, wrong := chosenTypes([]string{"nl.a@2", "nl.a@1"}); wrong == "" {
		t.Error("two versions of a type in one subscription are taken")
	}
}

// Rules: EDU-08.
func TestOptionsOfAnEventType(t *testing.T) {
	t.Parallel()
	line := func(line, status string) registry.VersionLineOf {
		return registry.VersionLineOf{Line: line, Newest: store.EventType{Title: "T", Status: status}}
	}
	two := []registry.VersionLineOf{line("2", store.VersionPublished), line("1", store.VersionDeprecated)}
	for _, tt := range []struct {
		lines  []registry.VersionLineOf
		ticked []string
		want   string
	}{
		{two[:1], nil, "nl.a|nl.a|T (version 2.x)|false"},
		{two[:1], []string{"nl.a"}, "nl.a|nl.a|T (version 2.x)|true"},
		{two, []string{"nl.a"}, "nl.a@2|nl.a, version 2.x|T · newest version|true nl.a@1|nl.a, version 1.x|T (deprecated)|false"},
		{two, []string{"nl.a@1"}, "nl.a@2|nl.a, version 2.x|T · newest version|false nl.a@1|nl.a, version 1.x|T (deprecated)|true"},
	} {
		got := ""
		for i, o := range optionsOf(t.Context(), "nl.a", tt.lines, tt.ticked) {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%s|%s|%s|%t", o.Value, o.Label, o.Hint, o.Selected)
		}
		if got != tt.want {
			t.Errorf("ticked %v: %s, want %s", tt.ticked, got, tt.want)
		}
	}
}
