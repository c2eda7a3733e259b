package format

import (
	"slices"

	"schakel/delivery/mutation/format/xmlscan"
)

// WriteGroup writes a group. Everything is checked before the first byte of it: there are mutations, each with an id on
// its states that tells them apart, and with payloads that are one sound element.
func (w *Writer) WriteGroup(g *Group) error {
	if len(g.Mutations) == 0 {
		return invalid("a group without mutations")
	}
	checked := make([]Mutation, len(g.Mutations))
	for i := range g.Mutations {
		m, err := g.Mutations[i].checked()
		if err != nil {
			return invalid("mutation %d of the group: %v", i+1, err)
		}
		checked[i] = m
	}
	w.text("<" + w.ml + ":mutatieGroep>\n")
	for i := range checked {
		w.mutation(&checked[i])
	}
	w.text("</" + w.ml + ":mutatieGroep>\n")
	return w.flushed("write a mutation group")
}

// checked gives the mutation as it can be written, or why it cannot.
func (m Mutation) checked() (Mutation, error) {
	if m.Kind() == 0 {
		return m, malformed("no state before and none after")
	}
	if m.Kind() == Change && m.Was.ID == m.Wordt.ID {
		return m, malformed("both states have the id %q", m.Was.ID)
	}
	for _, text := range []string{m.ObjectType, m.ObjectID} {
		if err := xmlscan.CheckText(text); err != nil {
			return m, err
		}
	}
	var err error
	if m.Was, err = m.Was.checked(); err != nil {
		return m, err
	}
	m.Wordt, err = m.Wordt.checked()
	return m, err
}

// checked leaves the state alone and gives one that can be written.
func (s *State) checked() (*State, error) {
	if s == nil {
		return nil, nil
	}
	if s.ID == "" {
		return nil, malformed("a state without an id")
	}
	if err := xmlscan.CheckText(s.ID); err != nil {
		return nil, err
	}
	if s.sound {
		return s, nil
	}
	own := *s
	if err := own.check(Limits{}.filled()); err != nil {
		return nil, err
	}
	return &own, nil
}

func (w *Writer) mutation(m *Mutation) {
	name := w.ml + ":" + m.Kind().element()
	w.line = append(append(w.line[:0], '<'), name...)
	w.line = appendAttribute(w.line, "objectType", m.ObjectType)
	w.line = append(appendAttribute(w.line, "objectId", m.ObjectID), ">\n"...)
	w.bytes(w.line)
	w.state("was", m.Was)
	w.state("wordt", m.Wordt)
	w.text("</" + name + ">\n")
}

// appendAttribute leaves an attribute without a value out, as the file it came from did.
func appendAttribute(to []byte, name, value string) []byte {
	if value == "" {
		return to
	}
	to = append(append(append(to, ' '), name...), `="`...)
	return append(xmlscan.AppendEscaped(to, value), '"')
}

func (w *Writer) state(name string, s *State) {
	if s == nil {
		return
	}
	w.line = append(append(append(w.line[:0], '<'), w.ml...), ':')
	w.line = append(appendAttribute(append(w.line, name...), "id", s.ID), '>')
	w.bytes(w.line)
	wraps := w.wraps(s)
	if wraps {
		w.text("<?" + wrapped + "?><" + w.object + ">")
	}
	if declare := w.lacking(s); len(declare) > 0 {
		w.line = s.appendTo(w.line[:0], declare)
		w.bytes(w.line)
	} else {
		w.bytes(s.XML)
	}
	if wraps {
		w.text("</" + w.object + ">")
	}
	w.text("</" + w.ml + ":" + name + ">\n")
}

// lacking gives the namespaces to declare on the state's own element, since the root does not declare them so.
func (w *Writer) lacking(s *State) []Namespace {
	var out []Namespace
	for _, n := range s.Namespaces {
		if uri, _ := w.lookup(n.Prefix); uri != n.URI {
			out = append(out, n)
		}
	}
	hasDefault := s.ownDefault || slices.ContainsFunc(s.Namespaces, func(n Namespace) bool { return n.Prefix == "" })
	if uri, _ := w.lookup(""); uri != "" && !hasDefault {
		out = append(out, Namespace{})
	}
	return out
}
