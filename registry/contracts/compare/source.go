package compare

import "regexp"

// source is a document while it is compared: its references followed, its schemas brought together.
type source struct {
	*reader
	bundles map[string]*bundle // by the places that were asked for
	same    map[string]*bundle // by the schemas in it
	// patterns compiles patternProperties; nil for what Go cannot read.
	patterns map[string]*regexp.Regexp
	// secured are the security schemes, once they were asked for.
	secured map[string]located
}

func newSource(r *reader) *source {
	return &source{reader: r, bundles: map[string]*bundle{}, same: map[string]*bundle{}, patterns: map[string]*regexp.Regexp{}}
}

// schemaAt is a schema with its pointer; the value is nil where a document says nothing.
type schemaAt struct {
	value any
	at    string
}

// located is an object with its pointer.
type located struct {
	object map[string]any
	at     string
}

// pair holds both documents while they are compared.
type pair struct {
	old, new *source
	changes  []Change
	asked    []asked
	// types are the event types of both documents.
	types map[string]bool
}

func (p *pair) add(changes ...Change) { p.changes = append(p.changes, changes...) }
