package area

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
)

// Config sets which mutations a filter lets through. Everything in it is optional.
type Config struct {
	// Fields names the elements with the geometry and keys of a state.
	Fields Fields
	// Areas are at most two as a rule: that of a subscription and that of a request. A state has to lie in each of them.
	Areas []*Area
	// ObjectTypes lists the wanted types; none means all. The case of the first letter does not count (MUT-63).
	ObjectTypes []string
}

// Filter keeps the mutations that concern an area. It is safe for concurrent use.
type Filter struct {
	config     Config
	types      map[string]bool
	readers    sync.Pool
	unreadable atomic.Int64
}

// NewFilter makes a filter. It is an error when an area does not fit the dataset: polygons in another system than the
// dataset's, or keys where the dataset names no element to find them in.
func NewFilter(c Config) (*Filter, error) {
	fields := c.Fields
	fields.CRS = None // geometry is read only when an area asks for it
	var keys bool
	for _, a := range c.Areas {
		switch {
		case a.kind == Keys && len(fields.Keys) == 0:
			return nil, errors.New("the dataset has no element to find keys in")
		case a.kind == Geometry && a.crs != c.Fields.CRS:
			return nil, fmt.Errorf("the area is in %s and the dataset in %s", a.crs, c.Fields.CRS)
		case a.kind == Geometry:
			fields.CRS = a.crs
			a.index()
		}
		keys = keys || a.kind == Keys
	}
	if !keys {
		fields.Keys = nil
	}
	f := &Filter{config: c, types: nameSet(typeSet(c.ObjectTypes))}
	f.readers.New = func() any { return NewReader(fields) }
	return f, nil
}

// Canonical is the text of the filter; see [Canonical].
func (f *Filter) Canonical() string { return Canonical(f.config.Areas, f.config.ObjectTypes) }

// Group keeps the mutations that concern the area: those of a wanted object type of which the WAS, the WORDT or both
// lie in it (MUT-42). It gives the same group when all do, nil when none does, and otherwise a group of the rest, which
// is still one group (MUT-47). Mutations and their states are passed as they are, not marked in any way (MUT-43).
func (f *Filter) Group(g *format.Group) *format.Group {
	var kept []format.Mutation
	for i := range g.Mutations {
		if f.keeps(&g.Mutations[i]) {
			kept = append(kept, g.Mutations[i])
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case len(g.Mutations):
		return g
	}
	return &format.Group{Index: g.Index, Line: g.Line, Mutations: slices.Clip(kept)}
}

func (f *Filter) keeps(m *format.Mutation) bool {
	if len(f.types) > 0 && !f.types[format.FoldType(m.Type())] {
		return false
	}
	if len(f.config.Areas) == 0 {
		return true
	}
	for _, s := range []*format.State{m.Wordt, m.Was} {
		if s == nil {
			continue
		}
		in, err := f.Holds(s)
		if err != nil {
			f.unreadable.Add(1)
		}
		if in {
			return true
		}
	}
	return false
}

// Unreadable counts the states, up to now, whose geometry Group could not read.
func (f *Filter) Unreadable() int64 { return f.unreadable.Load() }

// Holds reports whether a state lies in all of the areas, whatever its object type. A state that cannot be read, and comes
// with a *[GeometryError], lies in every area of polygons, and in one of keys unless it shows keys even so.
func (f *Filter) Holds(s *format.State) (bool, error) {
	if len(f.config.Areas) == 0 {
		return true, nil
	}
	r, _ := f.readers.Get().(*Reader)
	defer f.readers.Put(r)
	shape, keys, err := r.Read(s)
	for _, a := range f.config.Areas {
		if !f.in(a, shape, keys, err) {
			return false, err
		}
	}
	return true, err
}

func (f *Filter) in(a *Area, shape *Shape, keys []string, err error) bool {
	switch {
	case a.kind == Keys && len(keys) == 0:
		return f.config.Fields.Unlocated || err != nil
	case a.kind == Keys:
		return slices.ContainsFunc(keys, a.Holds)
	case err != nil:
		return true
	case shape.Empty():
		return f.config.Fields.Unlocated
	}
	return a.index().meets(shape)
}

// feed lets one scanner read many states, so that its buffers are made once: to the scanner they are the children of
// a root element that never ends.
type feed struct {
	pieces  [4][]byte
	scan    *xmlscan.Scanner
	bounds  xmlscan.Limits
	spaces  []format.Namespace // those that open declares
	open    []byte
	begun   int // line of the scanner where the state began
	started bool
	total   int64 // bytes handed to the scanner, once it has read them all
}

// Read hands the pieces out. Behind the last one there is nothing more to read: a state that needs more is cut off.
func (f *feed) Read(p []byte) (int, error) {
	for i, piece := range f.pieces {
		if len(piece) > 0 {
			n := copy(p, piece)
			f.pieces[i] = piece[n:]
			return n, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// begin puts the scanner at the start of a wrapper around a state.
func (f *feed) begin(s *format.State) error {
	if f.scan == nil {
		f.scan, f.started, f.total = xmlscan.New(f, f.bounds), false, 0
	}
	if f.open == nil || !slices.Equal(f.spaces, s.Namespaces) {
		f.declare(s.Namespaces)
	}
	f.pieces = [4][]byte{nil, f.open, s.XML, []byte("</s>")}
	f.total += int64(len(f.open) + len(s.XML) + len("</s>"))
	if !f.started {
		f.total += int64(len("<r>"))
		f.pieces[0] = []byte("<r>")
		if _, err := f.scan.Next(); err != nil {
			return err
		}
		f.started = true
	}
	_, err := f.scan.Next()
	f.begun, _ = f.scan.Place()
	return err
}

func (f *feed) declare(spaces []format.Namespace) {
	f.spaces = slices.Clone(spaces)
	f.open = append(f.open[:0], "<s"...)
	for _, n := range spaces {
		f.open = append(f.open, " xmlns"...)
		if n.Prefix != "" {
			f.open = append(append(f.open, ':'), n.Prefix...)
		}
		f.open = xmlscan.AppendEscaped(append(f.open, '=', '"'), n.URI)
		f.open = append(f.open, '"')
	}
	f.open = append(f.open, '>')
}

// drain goes to the end of the wrapper. A scanner that cannot is dropped.
func (f *feed) drain() {
	for {
		tok, err := f.scan.Next()
		if err != nil {
			f.scan = nil
			return
		}
		if tok.Kind == xmlscan.End && f.scan.Depth() <= wrapperDepth {
			return
		}
	}
}

// whole tells, at the end of the wrapper, whether it is that of the whole state: what is no XML could have ended it.
func (f *feed) whole() bool { return f.scan.Token().Offset+int64(len("</s>")) == f.total }

// wrapperDepth counts the elements of the wrapper around a state.
const wrapperDepth = 2
