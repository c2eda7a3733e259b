package contract

import (
	"fmt"
	"slices"
	"strings"
)

// pathTemplate checks how a path is written.
func (o *openAPI) pathTemplate(path string, at *place) {
	shown := shorten(path, 100)
	names := templateNames(path)
	bare := path
	for _, name := range names {
		bare = strings.Replace(bare, "{"+name+"}", "", 1)
	}
	if strings.ContainsAny(bare, "{}") || slices.Contains(names, "") {
		o.error("path-template", at, fmt.Sprintf("The braces in the path %q do not enclose names.", shown), "Write {name} for each part that varies.")
	}
	if strings.ContainsAny(bare, "?#") {
		o.warn("path-query", at, fmt.Sprintf("The path %q has a query or fragment in it.", shown), "Describe the query by parameters with in: query.")
	}
	if slices.Sort(names); len(slices.Compact(slices.Clone(names))) < len(names) {
		o.error("path-template-duplicate", at, fmt.Sprintf("The path %q has one name in braces twice.", shown), "Give each part that varies a name of its own.")
	}
}

// maxPathPairs bounds how many pairs of paths are held against each other.
const maxPathPairs = 1_000_000

// ambiguous reports two paths that some address matches both, neither of which is the more concrete.
func (o *openAPI) ambiguous(paths []string) {
	byLength := map[int][][]string{}
	work := maxPathPairs
	for _, path := range paths {
		parts := strings.Split(path, "/")
		for _, other := range byLength[len(parts)] {
			if work--; work < 0 {
				return
			}
			if bothWays(parts, other) {
				o.warn("path-ambiguous", top().to("paths", path), fmt.Sprintf("An address can match both %q and %q.", shorten(path, 100), shorten(strings.Join(other, "/"), 100)),
					"Give one of the two a fixed part where the other has one, for tools do not agree on which counts.")
				break
			}
		}
		byLength[len(parts)] = append(byLength[len(parts)], parts)
	}
}

// bothWays reports whether each of two paths has a name in braces where the other has a text, and they are alike else.
func bothWays(a, b []string) bool {
	first, second := false, false
	for i := range a {
		openA, openB := strings.HasPrefix(a[i], "{") && strings.HasSuffix(a[i], "}"), strings.HasPrefix(b[i], "{") && strings.HasSuffix(b[i], "}")
		switch {
		case openA && !openB:
			first = true
		case openB && !openA:
			second = true
		case !openA && a[i] != b[i]:
			return false
		}
	}
	return first && second
}

// scopes holds the scopes that a requirement names against those of the scheme.
func checkScopes(r *report, scheme map[string]any, wanted any, at *place, onlyOAuth bool) {
	names := texts(wanted)
	switch kind := member(scheme, "type"); {
	case len(names) == 0 || scheme == nil:
	case kind == "oauth2":
		known := map[string]bool{}
		for _, flow := range child(scheme, "flows") {
			flow, _ := flow.(map[string]any)
			for _, member := range []string{"scopes", "availableScopes"} {
				for name := range child(flow, member) {
					known[name] = true
				}
			}
		}
		for i, name := range names {
			if !known[name] {
				r.warn("security-scope-undefined", at.to(fmt.Sprint(i)), fmt.Sprintf("No flow of the security scheme has the scope %q.", shorten(name, 80)),
					"Add it to the scopes of a flow, or correct the name.")
			}
		}
	case onlyOAuth && kind != "openIdConnect" && kind != "":
		r.warn("security-scope-unexpected", at, fmt.Sprintf("A security scheme of type %s has no scopes.", shorten(kind, 40)), "Leave the list empty, or use a later version of the specification.")
	}
}
