package sorted

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortsAsSlicesDo(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	for size := range 200 {
		list := make([]pair, size)
		for i := range list {
			list[i] = pair{rand.IntN(size/3 + 1), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)

		stable := slices.Clone(list)
		Stable(stable, byKey)
		if !slices.Equal(stable, want) {
			t.Fatalf("Stable(%v) = %v, want %v", list, stable, want)
		}

		By(list, func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(a.place, b.place)) })
		if !slices.Equal(list, want) {
			t.Fatalf("By = %v, want %v", list, want)
		}
	}
}
