package format

import (
	"schakel/delivery/mutation/format/xmlscan"
)

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
