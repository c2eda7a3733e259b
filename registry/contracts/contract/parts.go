package contract

import "iter"

// partMembers bounds how many members of each large container one part of a document has.
const partMembers = 256

// parts splits a document so that a fault costs an explanation of its part alone, and the check of a document that is wrong
// all over ends where enough is found: as a whole it takes the jsonschema package three times as long. Each part has the next so many
// members of every container that authors fill (paths, components/schemas, channels, …). No official schema looks at
// more than one member of such a container at a time, so the parts have the faults of the document and no others.
// The first part also has all else of the document; the others have only what makes them documents.
func parts(root any, size int) iter.Seq[any] {
	return func(yield func(any) bool) {
		object, _ := root.(map[string]any)
		s := newSplitter(object)
		if s.most <= size {
			yield(root)
			return
		}
		for from := 0; from < s.most; from += size {
			if !yield(s.part(from, size)) {
				return
			}
		}
	}
}

// splitter holds the members of each container of a document, by its name or "components/" and its name.
type splitter struct {
	root    map[string]any
	members map[string][]string
	most    int // members of the largest
}

func newSplitter(root map[string]any) *splitter {
	s := &splitter{root: root, members: map[string][]string{}}
	for _, name := range rootContainers {
		s.add(name, root[name])
	}
	for name, value := range child(root, "components") {
		s.add("components/"+name, value)
	}
	return s
}

// rootContainers names the containers beside components; a document of a kind may need one, even an empty or wrong one.
var rootContainers = []string{"paths", "webhooks", "channels", "operations"}

func (s *splitter) add(name string, value any) {
	if container, ok := value.(map[string]any); ok {
		s.members[name] = sortedKeys(container)
		s.most = max(s.most, len(container))
	}
}

// part gives the part with so many members of each container, beginning at from.
func (s *splitter) part(from, size int) map[string]any {
	part := s.cut("", s.root, from, size)
	if components := child(s.root, "components"); components != nil {
		part["components"] = s.cut("components/", components, from, size)
	}
	if from > 0 {
		part["info"] = map[string]any{"title": "", "version": ""}
		for _, name := range append([]string{"openapi", "asyncapi", "components"}, rootContainers...) {
			value, has := s.root[name]
			if _, done := part[name]; has && !done {
				part[name] = value
			}
		}
	}
	return part
}

// cut gives an object with so many members of each container in it. What is no container is in the first part.
func (s *splitter) cut(prefix string, object map[string]any, from, size int) map[string]any {
	left := map[string]any{}
	for name, value := range object {
		members, ok := s.members[prefix+name]
		switch {
		case ok:
			container, some := value.(map[string]any), map[string]any{}
			for _, member := range members[min(from, len(members)):min(from+size, len(members))] {
				some[member] = container[member]
			}
			left[name] = some
		case from == 0:
			left[name] = value
		}
	}
	return left
}
