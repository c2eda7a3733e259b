package registry

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	"schakel/registry/sorted"
	"schakel/store"
	"schakel/templates/i18n"
)

// maxVersionLength bounds a version number, in bytes.
const maxVersionLength = 100

// CheckVersion returns the problem of the number of a contract version, empty when
// it is a full semantic version (semver.org, 2.0.0).
func CheckVersion(v string) i18n.Message {
	core, _, _ := strings.Cut(v, "+")
	core, _, _ = strings.Cut(core, "-")
	switch {
	case v == "":
		return "registry.version-missing"
	case len(v) > maxVersionLength:
		return i18n.M("registry.too-long", maxVersionLength)
	case semver.IsValid("v"+v) && strings.Count(core, ".") == 2:
		return ""
	case semver.IsValid(v) && strings.Count(core, ".") == 2:
		return i18n.M("registry.version-v", v, v[1:])
	}
	return i18n.M("registry.version-bad", v)
}

// VersionSortKey makes text of a valid version that sorts as semantic versions do, also where text is sorted by the rules of a
// language: it is hexadecimal, so it has only digits and the letters a to f.
func VersionSortKey(v string) string {
	precedence, _, _ := strings.Cut(v, "+")
	core, pre, isPre := strings.Cut(precedence, "-")
	var key []byte
	for _, number := range strings.Split(core, ".") {
		key = appendNumber(key, number)
	}
	if !isPre {
		key = append(key, 0xff) // after all of its pre-releases
	} else {
		for _, id := range strings.Split(pre, ".") {
			key = appendIdentifier(key, id)
		}
		key = append(key, 0) // fewer identifiers come first
	}
	// Versions that differ in their build alone are equal to semver; here one order is as good as another.
	return hex.EncodeToString(key) + hex.EncodeToString([]byte(v[len(precedence):]))
}

// appendIdentifier puts numbers before words.
func appendIdentifier(key []byte, id string) []byte {
	if AllDigits(id) {
		return appendNumber(append(key, 1), id)
	}
	return append(append(append(key, 2), id...), 0)
}

// appendNumber puts longer numbers after shorter ones; there are no leading zeros.
func appendNumber(key []byte, digits string) []byte {
	return append(append(key, byte(len(digits))), digits...)
}

// IsPreRelease reports whether a version is one before a release, such as 2.0.0-rc.1.
func IsPreRelease(version string) bool {
	precedence, _, _ := strings.Cut(version, "+")
	return strings.Contains(precedence, "-")
}

// Latest stands for the highest published version, where a version is asked for.
// A deprecated or pre-release version is the latest only when there is no other.
const Latest = "latest"

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
	sorted.Stable(lines, func(a, b VersionLineOf) int { return cmp.Compare(a.rank(), b.rank()) })
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
