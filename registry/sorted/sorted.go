// Package sorted sorts lists of which a comparison more or less is no matter.
//
// Purpose: slices.SortFunc is compiled anew for each type of element, which takes 18 kB of the program for each. These
// functions compile three short methods a type, and sort by package sort.
//
// Guarantee: the result is that of slices.SortFunc and slices.SortStableFunc.
//
// Limits: each comparison goes through an interface, which takes some ten nanoseconds more. Events as they are accepted, and files
// of millions of records, are sorted by package slices.
package sorted

import "sort"

// By sorts list in place by compare, which returns less than 0 when a comes before b. Equal elements come in any order.
func By[S ~[]E, E any](list S, compare func(a, b E) int) {
	sort.Sort(order[E]{list, compare})
}

// Stable sorts as By does and leaves equal elements in the order they have.
func Stable[S ~[]E, E any](list S, compare func(a, b E) int) {
	sort.Stable(order[E]{list, compare})
}

// order is the sort.Interface of a list.
type order[E any] struct {
	list    []E
	compare func(a, b E) int
}

func (o order[E]) Len() int           { return len(o.list) }
func (o order[E]) Less(i, j int) bool { return o.compare(o.list[i], o.list[j]) < 0 }
func (o order[E]) Swap(i, j int)      { o.list[i], o.list[j] = o.list[j], o.list[i] }
