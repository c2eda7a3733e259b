package compare

import (
	"fmt"
	"regexp"
	"strconv"
)

// Suggest gives the semantic version (2.0.0) that fits the changes: the next major one for a breaking change, the next
// minor one for an addition or warning, else the next patch. A pre-release such as 2.0.0-rc.1 becomes the release it leads
// to where that is enough. It is empty when oldVersion is no semantic version.
func Suggest(oldVersion string, changes []Change) string {
	shape := regexp.MustCompile(`^v?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	parts := shape.FindStringSubmatch(oldVersion)
	if parts == nil {
		return ""
	}
	major, minor, patch := number(parts[1]), number(parts[2]), number(parts[3])
	ahead := parts[4] != "" // a pre-release: its own release is still to come
	switch step(changes) {
	case "major":
		if !ahead || minor != 0 || patch != 0 {
			major, minor, patch = major+1, 0, 0
		}
	case "minor":
		if !ahead || patch != 0 {
			minor, patch = minor+1, 0
		}
	default:
		if !ahead {
			patch++
		}
	}
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}

func step(changes []Change) string {
	found := "patch"
	for _, c := range changes {
		if c.Level == Breaking {
			return "major"
		}
		if c.Code != documentationChanged {
			found = "minor"
		}
	}
	return found
}

// number reads digits that are known to fit.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the pattern allows nine digits only
	return n
}
