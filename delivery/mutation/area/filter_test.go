package area_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"schakel/delivery/mutation/area"
	"schakel/delivery/mutation/format"
)

// mutation makes one of the kind that its states make it.
func mutation(objectType string, was, wordt *format.State) format.Mutation {
	return format.Mutation{ObjectType: objectType, ObjectID: "1", Was: was, Wordt: wordt, Line: 7}
}

func filter(t testing.TB, c area.Config) *area.Filter {
	t.Helper()
	f, err := area.NewFilter(c)
	must(t, err)
	return f
}

// TestTruthTable: a mutation passes when its WAS, its WORDT or both lie in the area, whole and unmarked.
//
// Rules: MUT-42, MUT-43.
func TestTruthTable(t *testing.T) {
	t.Parallel()
	inside, outside := state(t, pointGML("155010 463010")), state(t, pointGML("155090 463090"))
	none, broken := state(t, "<d:naam>x</d:naam>"), state(t, pointGML("x y"))
	for name, c := range map[string]struct {
		was, wordt *format.State
		want       bool
	}{
		"add in":             {nil, inside, true},
		"add out":            {nil, outside, false},
		"change in/in":       {inside, inside, true},
		"change out/in":      {outside, inside, true},
		"change in/out":      {inside, outside, true},
		"change out/out":     {outside, outside, false},
		"delete in":          {inside, nil, true},
		"delete out":         {outside, nil, false},
		"add nowhere":        {nil, none, false},
		"change in/nowhere":  {inside, none, true},
		"change nowhere/in":  {none, inside, true},
		"change out/nowhere": {outside, none, false},
		"delete nowhere":     {none, nil, false},
		"add unreadable":     {nil, broken, true},
		"change out/unread":  {outside, broken, true},
		"change unread/out":  {broken, outside, true},
	} {
		f := filter(t, area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{boxArea(t, 155009, 463009, 2)}})
		g := &format.Group{Index: 3, Mutations: []format.Mutation{mutation("Perceel", c.was, c.wordt)}}
		before := marshal(g)
		got := f.Group(g)
		if (got != nil) != c.want || got != nil && got != g {
			t.Errorf("%s: %v", name, got)
		}
		if marshal(g) != before {
			t.Errorf("%s: the mutation was touched", name)
		}
		unread := c.was == broken || c.wordt == broken
		if n := f.Unreadable(); n > 1 || (n == 1) != unread {
			t.Errorf("%s: %d unreadable", name, n)
		}
	}
}

// marshal is all there is in a group that a receiver could see.
func marshal(g *format.Group) string {
	var out strings.Builder
	for _, m := range g.Mutations {
		for _, s := range []*format.State{m.Was, m.Wordt} {
			if s != nil {
				out.WriteString(m.ObjectType + m.ObjectID + s.ID + string(s.XML) + "|")
			}
		}
	}
	return out.String()
}

// TestUnlocated: a state without geometry lies in every area when the dataset has it so.
//
// Rules: MUT-42.
func TestUnlocated(t *testing.T) {
	t.Parallel()
	keys, err := area.NewKeys([]string{"GM1"})
	must(t, err)
	for _, a := range []*area.Area{boxArea(t, 155009, 463009, 2), keys} {
		for _, unlocated := range []bool{false, true} {
			f := filter(t, area.Config{Fields: area.Fields{CRS: area.RD, Keys: []string{"code"}, Unlocated: unlocated}, Areas: []*area.Area{a}})
			if in, err := f.Holds(state(t, "<d:naam>x</d:naam>")); in != unlocated || err != nil {
				t.Errorf("%s %v: %v %v", a.Kind(), unlocated, in, err)
			}
		}
	}
}

// TestGroupStaysOne: what is left of a group is one group; an empty one goes; one of which all stays is the same.
//
// Rules: MUT-47, MUT-43.
func TestGroupStaysOne(t *testing.T) {
	t.Parallel()
	inside, outside := state(t, pointGML("155010 463010")), state(t, pointGML("155090 463090"))
	f := filter(t, area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{boxArea(t, 155009, 463009, 2)}})
	g := &format.Group{Index: 4, Line: 9, Mutations: []format.Mutation{
		mutation("a", nil, outside), mutation("b", outside, inside), mutation("c", outside, nil), mutation("d", inside, nil),
	}}
	got := f.Group(g)
	if got == nil || got == g || got.Index != 4 || got.Line != 9 || !slices.Equal(got.Mutations, []format.Mutation{g.Mutations[1], g.Mutations[3]}) {
		t.Errorf("%+v", got)
	}
	if len(g.Mutations) != 4 {
		t.Error("the group that came in was changed")
	}
	if f.Group(&format.Group{Mutations: g.Mutations[:1]}) != nil || f.Group(&format.Group{}) != nil {
		t.Error("an empty group was kept")
	}
	whole := &format.Group{Mutations: g.Mutations[3:]}
	if f.Group(whole) != whole {
		t.Error("a whole group was copied")
	}
}

// TestObjectTypes: the case of the first letter does not count, and a file without the attribute has the name of the
// object's element.
//
// Rules: MUT-63, MUT-23.
func TestObjectTypes(t *testing.T) {
	t.Parallel()
	s := state(t, "<d:a/>")
	for name, c := range map[string]struct {
		wanted     []string
		objectType string
		want       bool
	}{
		"none wanted": {nil, "pand", true}, "same": {[]string{"perceel"}, "perceel", true}, "large": {[]string{"Perceel"}, "perceel", true},
		"small": {[]string{"perceel"}, "Perceel", true}, "inside": {[]string{"perceel"}, "PerCeel", false},
		"other": {[]string{"pand", "perceel"}, "grens", false}, "by element": {[]string{"perceel"}, "", true},
		"by another element": {[]string{"pand"}, "", false},
	} {
		f := filter(t, area.Config{ObjectTypes: c.wanted})
		got := f.Group(&format.Group{Mutations: []format.Mutation{mutation(c.objectType, nil, s)}})
		if (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTwoAreas: with an area of a subscription and one of a request, a state has to lie in both.
//
// Rules: MUT-42.
func TestTwoAreas(t *testing.T) {
	t.Parallel()
	first, second := boxArea(t, 155000, 463000, 10), boxArea(t, 155005, 463000, 10)
	f := filter(t, area.Config{Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{first, second}})
	only1, both, only2 := state(t, pointGML("155001 463001")), state(t, pointGML("155006 463001")), state(t, pointGML("155014 463001"))
	for name, c := range map[string]struct {
		was, wordt *format.State
		want       bool
	}{
		"both": {nil, both, true}, "first": {nil, only1, false}, "second": {nil, only2, false},
		"into both": {only1, both, true}, "from one to the other": {only1, only2, false},
	} {
		if got := f.Group(&format.Group{Mutations: []format.Mutation{mutation("a", c.was, c.wordt)}}); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	dataset := uuid.New()
	if f.Lineage(dataset) != area.Lineage(dataset, []*area.Area{second, first}, nil) || f.Canonical() == "" {
		t.Error("another lineage")
	}
}

// TestByKey filters data without geometry.
//
// Rules: MUT-40, MUT-42.
func TestByKey(t *testing.T) {
	t.Parallel()
	keys, err := area.NewKeys([]string{"GM0014", "GM0363"})
	must(t, err)
	f := filter(t, area.Config{Fields: area.Fields{Keys: []string{"gemeente", "oud"}}, Areas: []*area.Area{keys}})
	for xml, want := range map[string]bool{
		"<d:gemeente>GM0014</d:gemeente>":                             true,
		"<d:gemeente>\n GM0014\t</d:gemeente>":                        true,
		"<d:gemeente>GM001</d:gemeente>":                              false,
		"<d:gemeente>GM00140</d:gemeente>":                            false,
		"<d:gemeente>gm0014</d:gemeente>":                             false,
		"<d:andere>GM0014</d:andere>":                                 false,
		"<d:gemeente>x</d:gemeente><d:oud>GM0363</d:oud>":             true,
		"<d:gemeente><d:code>GM0014</d:code></d:gemeente>":            true,
		"<d:gemeente/>":                                               false,
		"<d:gemeente>GM0014</d:gemeente>" + pointGML("no coordinate"): true,
	} {
		if in, err := f.Holds(state(t, xml)); in != want || err != nil {
			t.Errorf("%s: %v %v", xml, in, err)
		}
	}
}

// TestGeometryAndKeys: with an area of each kind, geometry that cannot be read does not spoil the keys.
//
// Rules: MUT-40, MUT-42.
func TestGeometryAndKeys(t *testing.T) {
	t.Parallel()
	keys, err := area.NewKeys([]string{"GM1"})
	must(t, err)
	f := filter(t, area.Config{
		Fields: area.Fields{CRS: area.RD, Keys: []string{"k"}}, Areas: []*area.Area{boxArea(t, 155009, 463009, 2), keys},
	})
	for xml, c := range map[string]struct{ in, bad bool }{
		pointGML("155010 463010") + "<d:k>GM1</d:k>": {true, false},
		pointGML("155010 463010") + "<d:k>GM2</d:k>": {false, false},
		pointGML("155090 463010") + "<d:k>GM1</d:k>": {false, false},
		pointGML("x y") + "<d:k>GM1</d:k>":           {true, true},
		pointGML("x y") + "<d:k>GM2</d:k>":           {false, true},
		pointGML("x y"):                              {true, true},
	} {
		if in, err := f.Holds(state(t, xml)); in != c.in || (err != nil) != c.bad {
			t.Errorf("%s: %v %v", xml, in, err)
		}
	}
	cut := &format.State{XML: []byte("<a><b>")}
	if in, err := f.Holds(cut); !in || err == nil {
		t.Error(in, err)
	}
}

// TestNewFilterRefuses what cannot work.
func TestNewFilterRefuses(t *testing.T) {
	t.Parallel()
	keys, err := area.NewKeys([]string{"a"})
	must(t, err)
	for name, c := range map[string]area.Config{
		"another system":      {Fields: area.Fields{CRS: area.WGS84}, Areas: []*area.Area{boxArea(t, 1, 400000, 1)}},
		"data without places": {Areas: []*area.Area{boxArea(t, 1, 400000, 1)}},
		"no key elements":     {Fields: area.Fields{CRS: area.RD}, Areas: []*area.Area{keys}},
	} {
		if _, err := area.NewFilter(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
