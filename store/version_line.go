package store

import "strings"

// VersionLine is the line of compatible versions that a semantic version is in: its major number, or 0 and the minor
// number while the major is 0, such as 1 for 1.4.2 and 0.3 for 0.3.1. It is empty for what is no version.
func VersionLine(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	if major != "0" {
		return major
	}
	minor, _, found := strings.Cut(rest, ".")
	if !found {
		return ""
	}
	return version[:len(major)+1+len(minor)]
}

// FitsLine reports whether an event that fits some versions, given with spaces between, goes to a subscriber to one line of
// them. An event of which the versions are not known goes to all, and who wants no line in particular gets all (EDU-08).
func FitsLine(versions, line string) bool {
	if line == "" || versions == "" {
		return true
	}
	for v := range strings.SplitSeq(versions, " ") {
		if VersionLine(v) == line {
			return true
		}
	}
	return false
}
