package profile

import (
	"fmt"
	"slices"
	"testing"
)

// Every open point of the review is a setting, or a choice that is explained.
// Rules: OPEN-01, OPEN-06, OPEN-11, OPEN-14, OPEN-17.
func TestEveryOpenPointHasAnAnswer(t *testing.T) {
	t.Parallel()
	answered := map[string]bool{}
	for _, s := range Settings() {
		for _, rule := range s.Rules {
			answered[rule] = true
		}
	}
	var seen []string
	for _, c := range FixedChoices() {
		if c.Question == "" || c.Answer == "" || slices.Contains(seen, c.ID) {
			t.Errorf("%s: has no question or answer, or stands there twice", c.ID)
		}
		seen, answered[c.ID] = append(seen, c.ID), true
	}
	for n := 1; n <= 17; n++ {
		if id := fmt.Sprintf("OPEN-%02d", n); !answered[id] {
			t.Errorf("%s has no setting and no answer", id)
		}
	}
}
