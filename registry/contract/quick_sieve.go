package contract

import (
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxUnsound is how many unsound members of one container are explained: more than that many findings are not shown.
const maxUnsound = maxPlaced

// sieve notes which members of the large containers of a document, such as its paths, are sound whatever schema is applied
// to them. Without those the explanation of what is wrong with the others is the same, in a part of the time and memory.
type sieve struct {
	path  []string                   // member names on the way to here, no more than are needed
	depth int                        // how many there are
	sound map[string]map[string]bool // by container, by member name
}

// isSifted names the containers: they hold what the author named, and no official schema looks at all members of one at a time.
func isSifted(path []string) bool {
	switch {
	case len(path) == 1:
		return path[0] == "paths" || path[0] == "webhooks" || path[0] == "channels" || path[0] == "operations"
	case len(path) == 2:
		return path[0] == "components"
	}
	return false
}

// above tells whether there may be containers below here.
func (v *sieve) above() bool {
	return v.depth < 2 || v.depth == 2 && v.path[0] == "components"
}

func (v *sieve) note(name string, ok bool) {
	if v.depth > 2 || !isSifted(v.path[:v.depth]) {
		return
	}
	key := v.path[v.depth-1]
	if v.depth == 2 {
		key = "components/" + key
	}
	members := v.sound[key]
	if members == nil {
		members = map[string]bool{}
		v.sound[key] = members
	}
	before, known := members[name]
	members[name] = ok && (before || !known)
}

// mayStop tells whether a fault settles the verdict; while there is a sieve, the upper parts of a document are gone through whole.
func (q *quick) mayStop() bool { return q.sieve == nil || !q.sieve.above() }

// member applies a schema to the value of a member, or to an item of a list, which has no name.
func (q *quick) member(s *jsonschema.Schema, name string, value any) bool {
	v := q.sieve
	if v == nil || v.depth > 2 {
		return q.valid(s, value)
	}
	if v.depth < len(v.path) {
		v.path[v.depth] = name
	}
	v.depth++
	ok := q.valid(s, value)
	v.depth--
	return q.judged(name, ok)
}

// judged notes a verdict on a member, which it gives.
func (q *quick) judged(name string, ok bool) bool {
	if q.sieve != nil {
		q.sieve.note(name, ok)
	}
	return ok
}

// unsound gives the document without members that are sound; the document itself where nothing can be left out.
func (s *quickSchema) unsound(document any, size int) any {
	root, isObject := document.(map[string]any)
	v := &sieve{path: make([]string, 2), sound: map[string]map[string]bool{}}
	q := &quick{meta: s.meta, steps: steps(size), sieve: v}
	if q.valid(s.root, document); q.steps <= 0 || !isObject {
		return document
	}
	left := v.without("", root)
	if components, ok := root["components"].(map[string]any); ok {
		left["components"] = v.without("components/", components)
	}
	return left
}

// without gives an object with the sound members of its containers left out.
func (v *sieve) without(prefix string, object map[string]any) map[string]any {
	left := maps.Clone(object)
	for name, value := range object {
		container, ok := value.(map[string]any)
		if sound := v.sound[prefix+name]; ok && sound != nil {
			left[name] = remaining(container, sound)
		}
	}
	return left
}

func remaining(container map[string]any, sound map[string]bool) map[string]any {
	left := map[string]any{}
	for _, name := range sortedKeys(container) {
		if !sound[name] && len(left) < maxUnsound {
			left[name] = container[name]
		}
	}
	return left
}
