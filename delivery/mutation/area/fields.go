package area

import (
	"strings"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
)

// Fields names the elements in which the states of a dataset have their geometry and keys.
type Fields struct {
	CRS CRS // of the dataset, and of geometry that does not name one, x or longitude first then
	// Geometry is the local names of the elements below which GML counts; when empty, all GML in the state does.
	Geometry []string
	// Keys is the local names of the elements whose text, without the space around it, is a key.
	Keys []string
	// Unlocated means that a state without geometry, or without keys, lies in every area; by default it lies in none.
	Unlocated bool
}

// Reader reads the geometry and the keys of states. It is not safe for concurrent use.
type Reader struct {
	feed
	crs      CRS
	elements map[string]bool
	keys     map[string]bool
	shapes   bool // geometry is asked for

	shape   Shape
	found   []string
	inside  int // depth of the element below which geometry counts; 0: none
	base    reference
	names   map[string]reference // of srsName, those seen
	text    []byte
	numbers []float64
	first   int // line of the state in its file
	unknown string
}

// NewReader makes a reader; geometry is left alone when the dataset has no system.
func NewReader(f Fields) *Reader {
	r := &Reader{crs: f.CRS, shapes: f.CRS != None, elements: nameSet(f.Geometry), keys: nameSet(f.Keys)}
	r.bounds = xmlscan.Limits{Depth: 100 + wrapperDepth, Token: mostState}
	r.names = map[string]reference{}
	return r
}

// mostState limits the bytes of a single text of a state.
const mostState = 64 << 20

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// Read gives the geometry and the keys of a state, both good until the next call. An error is a *[GeometryError]; the
// keys, and the geometry before it, are given even so.
func (r *Reader) Read(s *format.State) (*Shape, []string, error) {
	r.shape.reset()
	r.found, r.inside, r.first, r.unknown = r.found[:0], 0, s.Line, ""
	r.base = reference{crs: r.crs, dim: 2}
	if err := r.begin(s); err != nil {
		r.scan = nil
		return &r.shape, nil, r.located("state", err)
	}
	err := r.walk()
	if err != nil && r.scan != nil {
		r.drain()
	}
	return &r.shape, r.found, err
}

// walk goes through a state to the end of its wrapper. An error in geometry does not keep it from the keys behind.
func (r *Reader) walk() (failed error) {
	for {
		tok, err := r.next()
		if err != nil {
			return err
		}
		depth := r.scan.Depth()
		if tok.Kind == xmlscan.End {
			if depth <= wrapperDepth {
				if !r.whole() {
					defer func() { r.scan = nil }()
					return r.fault("the state is not one element")
				}
				return failed
			}
			if depth == r.inside {
				r.inside = 0
			}
			continue
		}
		if tok.Kind != xmlscan.Start {
			continue
		}
		if err := r.element(tok, depth); err != nil {
			if r.scan == nil || len(r.keys) == 0 {
				return err
			}
			r.shapes, failed = false, err
			defer func() { r.shapes = true }()
		}
	}
}

// element looks whether an element outside geometry is a key, holds geometry, or is geometry.
func (r *Reader) element(tok *xmlscan.Token, depth int) error {
	local := xmlscan.Local(tok.Name)
	if len(r.keys) > 0 && r.keys[string(local)] {
		return r.key(depth)
	}
	if !r.shapes {
		return nil
	}
	if r.inside == 0 && r.elements[string(local)] {
		r.inside = depth
	}
	if !strings.HasPrefix(r.scan.Namespace(), "http://www.opengis.net/gml") {
		return nil
	}
	kind := kindOf(local)
	if kind == envelope {
		return r.envelope(tok)
	}
	if len(r.elements) > 0 && r.inside == 0 {
		return nil
	}
	if kind == notGML {
		if r.unknown == "" && unknownObject(local) {
			r.unknown = string(local)
		}
		return nil
	}
	return r.geometry(kind, tok, r.base)
}

// Unknown is the name of the first GML object of the last state that is no geometry the reader knows; empty for none. It
// counts for nothing, so a state that has no other geometry is taken to have none.
func (r *Reader) Unknown() string { return r.unknown }

// envelope takes over the system that a boundedBy names for all that follows.
func (r *Reader) envelope(tok *xmlscan.Token) error {
	ref, err := r.reference(tok, r.base)
	if err == nil {
		r.base = ref
	}
	return nil // what an envelope says counts only when it can be understood
}

// key takes the text of an element, that of elements in it included.
func (r *Reader) key(depth int) error {
	r.text = r.text[:0]
	for {
		tok, err := r.next()
		if err != nil {
			return err
		}
		switch {
		case tok.Kind == xmlscan.Text:
			r.text = xmlscan.AppendText(r.text, tok.Text)
		case tok.Kind == xmlscan.CData:
			r.text = append(r.text, tok.Text...)
		case tok.Kind == xmlscan.End && r.scan.Depth() == depth:
			if text := strings.TrimSpace(string(r.text)); text != "" {
				r.found = append(r.found, text)
			}
			return nil
		}
	}
}
