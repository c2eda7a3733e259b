package compare

import "strings"

// oasdiff writes the way to a property as names between slashes, and a part of allOf, oneOf or anyOf as
// oneOf[#/components/schemas/Name] or oneOf[subschema #1].

// steps splits such a way at the slashes outside brackets, empty steps left out.
func steps(path string) []string {
	var list []string
	depth, start := 0, 0
	add := func(end int) {
		if step := path[start:end]; step != "" {
			list = append(list, step)
		}
		start = end + 1
	}
	for i := range len(path) {
		switch path[i] {
		case '[':
			depth++
		case ']':
			depth = max(depth-1, 0)
		case '/':
			if depth == 0 {
				add(i)
			}
		}
	}
	add(len(path))
	return list
}

// partOf tells a step that is a part of allOf, oneOf or anyOf, with what it names.
func partOf(step string) (keyword, named string, ok bool) {
	keyword, named, ok = strings.Cut(strings.TrimSuffix(step, "]"), "[")
	return keyword, named, ok && (keyword == "allOf" || keyword == "oneOf" || keyword == "anyOf")
}

// shown writes a way for people: parts of allOf are no step of their own, of others only the name is left.
func shown(path string) string {
	if !strings.Contains(path, "Of[") {
		return strings.Trim(path, "/")
	}
	var list []string
	for _, step := range steps(path) {
		keyword, named, isPart := partOf(step)
		switch {
		case isPart && keyword == "allOf":
		case isPart:
			list = append(list, keyword+"["+named[strings.LastIndexByte(named, '/')+1:]+"]")
		default:
			list = append(list, step)
		}
	}
	return strings.Join(list, "/")
}

// lastNamed gives the last name on a way; the part of oneOf behind it is told of by the pointer.
func lastNamed(path string) string {
	list := steps(path)
	for i := len(list) - 1; i >= 0; i-- {
		if _, _, isPart := partOf(list[i]); !isPart {
			return list[i]
		}
	}
	return ""
}
