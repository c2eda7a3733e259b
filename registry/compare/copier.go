package compare

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"schakel/registry/jsonpointer"
)

// ErrTooLarge is given for documents that take more work to compare than is allowed.
var ErrTooLarge = errors.New("the documents are too large or too entangled to compare")

// maxCopied bounds the objects and lists that are copied from one document, those that stand in for references included.
const maxCopied = 3_000_000

// copier rewrites a document into a plain OpenAPI document: only schemas are referred to, all else stands where it is used,
// and what cannot change a message is left out. It remembers where each copied part came from.
type copier struct {
	*reader
	paths   map[string]any
	schemas map[string]any
	// grafts lead from a pointer in the copy to the pointer in the document that was copied to there.
	grafts map[string]string
	names  map[string]string // pointer of a schema to its name in the copy
	taken  map[string]bool
	queue  []string // pointers of schemas still to be copied
	copied int
	// made is the copy, once it is complete.
	made map[string]any
	// other is the document that this one is held against; nil for none.
	other map[string]any
	// secured are the security schemes, once they were asked for.
	secured map[string]located
}

func newCopier(r *reader) *copier {
	return &copier{
		reader: r, paths: map[string]any{}, schemas: map[string]any{}, grafts: map[string]string{},
		names: map[string]string{}, taken: map[string]bool{},
	}
}

// document gives the copy with all the schemas that it refers to.
func (c *copier) document() (map[string]any, error) {
	for len(c.queue) > 0 && c.copied <= maxCopied {
		pointer := c.queue[0]
		c.queue = c.queue[1:]
		value, _ := jsonpointer.Lookup(c.root, pointer)
		name := c.names[pointer]
		c.graft(jsonpointer.Join("components", "schemas", name), pointer)
		c.schemas[name] = c.whole(value, pointer)
	}
	if c.copied > maxCopied {
		return nil, ErrTooLarge
	}
	c.made = map[string]any{
		"openapi": "3.2.0", "info": map[string]any{"title": "", "version": ""},
		"paths": c.paths, "components": map[string]any{"schemas": c.schemas},
	}
	return c.made, nil
}

func (c *copier) graft(copied, original string) {
	if copied != original {
		c.grafts[copied] = original
	}
}

// origin leads a pointer in the copy back to the document: that of the nearest graft above it and the rest.
func (c *copier) origin(pointer string) string {
	pointer = strings.ReplaceAll(pointer, "/patternProperties/"+otherProperties, "/additionalProperties")
	for end := len(pointer); end > 0; end = strings.LastIndexByte(pointer[:end], '/') {
		if original, ok := c.grafts[pointer[:end]]; ok {
			return original + pointer[end:]
		}
	}
	return pointer
}

// lift asks for the schema at a pointer to be copied, and gives the reference to the copy.
func (c *copier) lift(pointer string) string {
	name, known := c.names[pointer]
	if !known {
		name = c.nameFor(pointer)
		c.names[pointer], c.taken[name] = name, true
		c.queue = append(c.queue, pointer)
	}
	return "#/components/schemas/" + name
}

// nameFor makes the same name of the same pointer in either document.
func (c *copier) nameFor(pointer string) string {
	list, _ := jsonpointer.Tokens(pointer)
	if len(list) == 3 && list[0] == "components" && list[1] == "schemas" && plain(list[2]) == list[2] {
		return list[2]
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pointer)) // a hash never fails
	last := "root"
	if len(list) > 0 {
		last = plain(list[len(list)-1])
	}
	name := fmt.Sprintf("%s.%08x", last, hash.Sum32())
	for c.taken[name] {
		name += "x"
	}
	return name
}

// plain keeps the signs that names of components may have.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, name)
}
