package registry

import (
	"cmp"
	"slices"

	"schakel/store"
)

// AnyVersion asks for an event type in every version.
const AnyVersion = "any"

// VersionLineOf is one line of compatible versions of an event type: all of 1, say, or of 0.3 (CE-16).
type VersionLineOf struct {
	Line string
	// Newest is its newest published version, or its newest deprecated one when there is no other.
	Newest store.EventType
	// Versions are all that can be used, the newest first.
	Versions []store.EventType
}

// LineName writes a line as people do, such as 1.x; for no line in particular it is "any".
func LineName(line string) string {
	if line == "" {
		return AnyVersion
	}
	return line + ".x"
}

// Lines sorts the versions of an event type, as store.EventTypeVersions orders them, into lines; the one that a new subscription
// gets unless it asks for another comes first: the newest that is published and stable.
func Lines(versions []store.EventType) []VersionLineOf {
	var lines []VersionLineOf
	for _, v := range versions {
		line := store.VersionLine(v.ContractVersion)
		i := slices.IndexFunc(lines, func(l VersionLineOf) bool { return l.Line == line })
		if i < 0 {
			lines = append(lines, VersionLineOf{Line: line, Newest: v})
			i = len(lines) - 1
		}
		lines[i].Versions = append(lines[i].Versions, v)
	}
	slices.SortStableFunc(lines, func(a, b VersionLineOf) int { return cmp.Compare(a.rank(), b.rank()) })
	return lines
}

// rank puts what is published and stable before what is not.
func (l VersionLineOf) rank() int {
	rank := 2
	for _, v := range l.Versions {
		switch stable := !IsPreRelease(v.ContractVersion); {
		case v.Status == store.VersionPublished && stable:
			return 0
		case v.Status == store.VersionPublished:
			rank = 1
		}
	}
	return rank
}
