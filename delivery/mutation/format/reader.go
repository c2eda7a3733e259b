package format

import (
	"errors"
	"io"

	"schakel/delivery/mutation/format/xmlscan"
)

// Limits bounds what a file may ask. A zero field takes its default.
type Limits struct {
	Depth     int // elements in elements; default 101
	State     int // bytes of one state; default 16 MiB
	Group     int // bytes of the states of one group; default 64 MiB
	Mutations int // of one group; default 100,000
	Header    int // elements in the header; default 10,000
}

// DefaultLimits bound a reader that is given no others; writers stay within them.
func DefaultLimits() Limits { return Limits{}.filled() }

func (l Limits) filled() Limits {
	or := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	or(&l.Depth, 101)
	or(&l.State, 16<<20)
	or(&l.Group, 64<<20)
	or(&l.Mutations, 100_000)
	or(&l.Header, 10_000)
	return l
}

// Reader reads one file. It is not safe for concurrent use.
type Reader struct {
	scan   *xmlscan.Scanner
	file   string
	limits Limits
	header Header
	begun  bool // the header is read
	next   bool // the current token is the start of a group
	over   bool // the message has ended
	// wrapped: a writer put the element that follows around an object
	wrapped bool
	group   int // the group being read, from 1; 0 outside
	count   int // groups begun
	spare   int // bytes left for the states of the group
	left    int // elements left for the header
	outer   []xmlscan.Outer
	err     error
}

// NewReader reads the file of that name from r. The name is for errors only.
func NewReader(file string, r io.Reader, limits Limits) *Reader {
	limits = limits.filled()
	scan := xmlscan.New(r, xmlscan.Limits{Depth: limits.Depth, Token: limits.State})
	return &Reader{scan: scan, file: file, limits: limits, left: limits.Header}
}

// Header reads as far as the first group. It may be called again.
func (r *Reader) Header() (Header, error) {
	if r.begun || r.err != nil {
		return r.header, r.err
	}
	if err := r.readHeader(); err != nil {
		return Header{}, r.fail(err)
	}
	r.begun = true
	return r.header, nil
}

// Next gives the next group, which is the caller's to keep, or io.EOF after the end of a whole file. Nothing of a group
// that is not whole is given. Errors are *Error.
func (r *Reader) Next() (*Group, error) {
	if _, err := r.Header(); err != nil {
		return nil, err
	}
	if !r.next {
		if err := r.toGroup(); err != nil {
			return nil, r.fail(err)
		}
	}
	r.next = false
	g, err := r.readGroup()
	if err != nil {
		return nil, r.fail(err)
	}
	return g, nil
}

// fail notes that nothing can follow, and where.
func (r *Reader) fail(err error) error {
	r.err = err
	if errors.Is(err, io.EOF) {
		return err
	}
	located := &Error{File: r.file, Group: r.group, Err: err}
	located.Line, located.Column = r.scan.Place()
	var syntax *xmlscan.SyntaxError
	if errors.As(err, &syntax) {
		located.Err = syntax.Bare()
		if syntax.Line > 0 {
			located.Line, located.Column = syntax.Line, syntax.Column
		}
	}
	r.err = located
	return r.err
}

// element gives the next Start or End; it refuses text in between.
func (r *Reader) element() (*xmlscan.Token, error) {
	for {
		tok, err := r.scan.Next()
		if err != nil {
			return nil, err
		}
		switch tok.Kind {
		case xmlscan.Start, xmlscan.End:
			return tok, nil
		case xmlscan.Instruction:
			r.wrapped = r.wrapped || isWrapped(tok)
		case xmlscan.CData:
			return nil, malformed("text where an element belongs")
		case xmlscan.Text:
			if !blank(tok.Text) {
				return nil, malformed("text where an element belongs")
			}
		}
	}
}

func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}

// ours gives the name of the current element, and reports whether it is of the format.
func (r *Reader) ours(tok *xmlscan.Token) (string, bool) {
	space := r.scan.Namespace()
	if space != Namespace1 && space != Namespace2 || r.header.Version != "" && space != r.header.Version {
		return "", false
	}
	return string(xmlscan.Local(tok.Name)), true
}

// toGroup reads up to the start of the next group, or to the end of the file.
func (r *Reader) toGroup() error {
	for {
		tok, err := r.element()
		if err != nil {
			return err
		}
		if tok.Kind == xmlscan.End {
			r.over = true
			continue
		}
		if name, ours := r.ours(tok); ours && name == "mutatieGroep" && !r.over {
			return nil
		} else if ours && name == "mutatieBericht" {
			return malformed("a second mutatieBericht")
		}
		if err := r.unknown(string(tok.Name)); err != nil {
			return err
		}
	}
}

// readGroup reads a group of which the start is the current token. A group without mutations is given as it is.
func (r *Reader) readGroup() (*Group, error) {
	r.count++
	r.group, r.spare = r.count, r.limits.Group
	line, _ := r.scan.Place()
	g := &Group{Index: r.count, Line: line}
	for {
		tok, err := r.element()
		if err != nil {
			return nil, err
		}
		if tok.Kind == xmlscan.End {
			r.group = 0
			return g, nil
		}
		if len(g.Mutations) >= r.limits.Mutations {
			return nil, xmlscan.NewLimit("more than %d mutations in a group", r.limits.Mutations)
		}
		m, err := r.readMutation(tok)
		if err != nil {
			return nil, err
		}
		g.Mutations = append(g.Mutations, m)
	}
}

// kinds are the names of mutations. The text of the format calls all of them mutatie; the schema has three (MUT-23).
func kindOf(name string) (Kind, bool) {
	switch name {
	case "toevoeging":
		return Add, true
	case "wijziging":
		return Change, true
	case "verwijdering":
		return Delete, true
	}
	return 0, name == "mutatie"
}

func (r *Reader) readMutation(tok *xmlscan.Token) (Mutation, error) {
	name, _ := r.ours(tok)
	kind, known := kindOf(name)
	if !known {
		return Mutation{}, malformed("the element %.60q in a group", tok.Name)
	}
	m := Mutation{}
	m.Line, _ = r.scan.Place()
	for _, a := range tok.Attrs {
		switch string(a.Name) {
		case "objectType":
			m.ObjectType = r.scan.Intern([]byte(xmlscan.Value(a.Value)))
		case "objectId":
			m.ObjectID = xmlscan.Value(a.Value)
		}
	}
	if err := r.readSides(&m); err != nil {
		return m, err
	}
	got := m.Kind()
	if got == 0 {
		return m, malformed("a %s without was and wordt", name)
	}
	if kind != 0 && kind != got {
		return m, malformed("a %s that holds what makes it a %s", name, got.element())
	}
	return m, nil
}

// readSides reads the was and the wordt of a mutation, in that order (MUT-05).
func (r *Reader) readSides(m *Mutation) error {
	for {
		tok, err := r.element()
		if err != nil || tok.Kind == xmlscan.End {
			return err
		}
		name, _ := r.ours(tok)
		side := &m.Wordt
		switch {
		case name != "was" && name != "wordt":
			return malformed("the element %.60q in a mutation", tok.Name)
		case name == "was" && m.Wordt != nil:
			return malformed("a was behind a wordt")
		case name == "was":
			side = &m.Was
		}
		if *side != nil {
			return malformed("a second %s in a mutation", name)
		}
		if *side, err = r.readSide(tok, name); err != nil {
			return err
		}
	}
}

func (r *Reader) readSide(tok *xmlscan.Token, name string) (*State, error) {
	s := &State{}
	for _, a := range tok.Attrs {
		if string(a.Name) == "id" {
			s.ID = xmlscan.Value(a.Value)
		}
	}
	r.wrapped = false
	if err := r.readObject(s, name); err != nil {
		return nil, err
	}
	return s, r.endObject(name)
}

// readObject reads the object of a was or wordt, without the element that a writer put around it.
func (r *Reader) readObject(s *State, name string) error {
	r.scan.Forget()
	tok, err := r.element()
	if err != nil {
		return err
	}
	if tok.Kind == xmlscan.End {
		return malformed("a %s without an object", name)
	}
	if !r.wrapped {
		return r.readPayload(s)
	}
	r.wrapped = false
	if err := r.readObject(s, name); err != nil {
		return err
	}
	return r.endObject(name)
}

// endObject wants the end of what an object stands in.
func (r *Reader) endObject(name string) error {
	tok, err := r.element()
	if err != nil {
		return err
	}
	if tok.Kind != xmlscan.End {
		return malformed("a second object in a %s", name)
	}
	return nil
}

// readPayload takes the current element as it stands in the file.
func (r *Reader) readPayload(s *State) error {
	if r.header.Version != "" && r.scan.Namespace() == r.header.Version {
		return malformed("an element of the format where an object belongs")
	}
	s.Line, _ = r.scan.Place()
	raw, err := s.capture(r.scan, min(r.limits.State, r.spare))
	if err != nil {
		return err
	}
	s.XML = append(make([]byte, 0, len(raw)), raw...)
	r.outer = r.scan.Outer(r.outer[:0])
	r.spare -= len(raw)
	s.Namespaces = needed(raw, r.outer)
	return nil
}
