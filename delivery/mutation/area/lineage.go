package area

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"schakel/delivery/mutation/format"
)

// Canonical gives the one text for a filter, whatever the order in which its areas and object types were given: a line for
// each area, then the object types. It is empty for a filter that lets everything through.
func Canonical(areas []*Area, objectTypes []string) string {
	var lines []string
	for _, a := range areas {
		lines = append(lines, "area "+a.canonical())
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if types := typeSet(objectTypes); len(types) > 0 {
		lines = append(lines, "types "+keysText(types))
	}
	return strings.Join(lines, "\n")
}

// Lineage gives the lineage of what a filter leaves of a dataset: the UUIDv5 of the canonical text under the dataset's
// lineage, so that the same filter keeps it and another area begins a new one (MUT-38, MUT-49). Without a filter it is
// the dataset's own.
func Lineage(dataset uuid.UUID, areas []*Area, objectTypes []string) uuid.UUID {
	text := Canonical(areas, objectTypes)
	if text == "" {
		return dataset
	}
	return uuid.NewSHA1(dataset, []byte(text))
}

// typeSet sorts object types as they are compared.
func typeSet(objectTypes []string) []string {
	out := make([]string, len(objectTypes))
	for i, t := range objectTypes {
		out[i] = format.FoldType(t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
