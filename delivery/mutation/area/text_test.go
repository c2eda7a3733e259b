package area_test

import (
	"errors"
	"testing"

	"schakel/delivery/mutation/area"
)

// TestJoin: what files say of areas can be read again.
//
// Rules: MUT-41.
func TestJoin(t *testing.T) {
	t.Parallel()
	o := area.Options{Dataset: area.RD}
	for _, text := range []string{
		"POLYGON((155000 463000,155100 463000,155100 463100,155000 463000))",
		"INTERSECTION(POLYGON((155000 463000,155100 463000,155100 463100,155000 463000)), MULTIPOLYGON(((155000 463000,155100 463000,155100 463100,155000 463000)),((155200 463000,155300 463000,155300 463100,155200 463000))))",
		`["0344","0363"]`,
	} {
		list, err := area.Split(text, o)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := area.Split(area.Join(list), o)
		if err != nil || len(again) != len(list) || area.Join(again) != area.Join(list) {
			t.Errorf("%s became %s, %v", text, area.Join(list), err)
		}
	}
	if area.Join(nil) != "" {
		t.Error("no area has a text")
	}
	for _, wrong := range []string{"49446,49447", "INTERSECTION(", "INTERSECTION(POLYGON((1 2)), 3)", "[1]"} {
		if _, err := area.Split(wrong, o); !errors.Is(err, area.ErrArea) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
