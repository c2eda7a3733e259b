package format

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// Writer writes one file of namespace 2.0, the same bytes for the same groups. It is not safe for concurrent use.
type Writer struct {
	out  *bufio.Writer
	root Name
	ml   string // the prefix of the format
	// object is the element around objects that stand in none of the dataset, empty when none is put around them.
	object string
	types  []string
	bound  []Namespace
	line   []byte
	err    error
}

// NewWriter starts a file. The header must have a dataset, a type, a delivery id and an object type. Its namespaces are
// declared on the root, so that states that were read from a file with the same ones keep their bytes; its version and
// deviations do not count.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	out := &Writer{out: bufio.NewWriterSize(w, 64<<10), root: h.Root, ml: "ml", types: h.ObjectTypes}
	if h.Object != "" {
		out.object = Name{h.Root.Prefix, h.Root.Space, h.Object}.written()
	}
	out.bind(h)
	out.head(h)
	return out, out.flushed("write the header of a mutation file")
}

func (h *Header) check() error {
	switch {
	case h.Type != Delta && h.Type != Initial:
		return invalid("the type %q", h.Type)
	case h.Dataset == "" || h.DeliveryID == "" || len(h.ObjectTypes) == 0:
		return invalid("a header without dataset, delivery id or object types")
	case h.Root.Local == "" && h.Root != Name{}:
		return invalid("a root element without a name")
	}
	if h.Root.Local != "" {
		if err := h.Root.check(); err != nil {
			return err
		}
	}
	if h.Object != "" && (h.Root.Local == "" || xmlscan.CheckName("", h.Object) != nil) {
		return invalid("the element %q around objects", h.Object)
	}
	for _, text := range append([]string{h.Dataset, h.Area, h.DeliveryID}, h.ObjectTypes...) {
		if err := xmlscan.CheckText(text); err != nil {
			return invalid("%v", err)
		}
	}
	return nil
}

// check makes sure that the name can stand in XML.
func (n Name) check() error {
	if err := xmlscan.CheckName(n.Prefix, n.Local); err != nil {
		return invalid("%v", err)
	}
	if n.Prefix != "" && n.Space == "" || n.Space == Namespace1 || n.Space == Namespace2 {
		return invalid("a root element %s in the namespace %q", n.Local, n.Space)
	}
	return xmlscan.CheckText(n.Space)
}

// bind settles which namespaces the root declares: its own, the format's, and those of the header that fit beside them.
func (w *Writer) bind(h Header) {
	if w.root.Local != "" && w.root.Prefix == w.ml {
		w.ml = "ml2"
	}
	w.bound = []Namespace{{Prefix: w.ml, URI: Namespace2}}
	if w.root.Space != "" {
		w.bound = append(w.bound, Namespace{Prefix: w.root.Prefix, URI: w.root.Space})
	}
	for _, n := range h.Namespaces {
		nameless := n.Prefix == "" && w.root.Local != "" && w.root.Space == ""
		if _, taken := w.lookup(n.Prefix); !taken && !nameless && xmlscan.Allowed(n) == nil && n.URI != Namespace1 {
			w.bound = append(w.bound, n)
		}
	}
	sortNamespaces(w.bound)
}

func (w *Writer) lookup(prefix string) (string, bool) {
	i := slices.IndexFunc(w.bound, func(n Namespace) bool { return n.Prefix == prefix })
	if i < 0 {
		return "", false
	}
	return w.bound[i].URI, true
}

func (n Name) written() string {
	if n.Prefix == "" {
		return n.Local
	}
	return n.Prefix + ":" + n.Local
}

func (w *Writer) head(h Header) {
	declared := []byte(nil)
	for _, n := range w.bound {
		declared = appendDeclaration(append(declared, "\n   "...), n)
	}
	w.text(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	if w.root.Local != "" {
		w.text("<" + w.root.written() + string(declared) + ">\n")
		declared = nil
	}
	w.text("<" + w.ml + ":mutatieBericht" + string(declared) + ">\n")
	w.leaf("dataset", h.Dataset)
	w.text("<" + w.ml + ":inhoud>\n")
	w.leaf("mutatieType", string(h.Type))
	w.leaf("gebied", h.Area)
	w.leaf("leveringsId", h.DeliveryID)
	w.text("<" + w.ml + ":objectTypen>\n")
	for _, t := range h.ObjectTypes {
		w.leaf("objectType", t)
	}
	w.text("</" + w.ml + ":objectTypen>\n</" + w.ml + ":inhoud>\n")
}

func (w *Writer) leaf(name, text string) {
	w.text("<" + w.ml + ":" + name + ">")
	w.line = xmlscan.AppendEscaped(w.line[:0], text)
	w.bytes(w.line)
	w.text("</" + w.ml + ":" + name + ">\n")
}

func (w *Writer) text(s string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(s)
	}
}

func (w *Writer) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

func (w *Writer) flushed(what string) error {
	if w.err != nil {
		return fmt.Errorf("%s: %w", what, w.err)
	}
	return nil
}

// Close ends the file. It does not close what is underneath.
func (w *Writer) Close() error {
	w.text("</" + w.ml + ":mutatieBericht>\n")
	if w.root.Local != "" {
		w.text("</" + w.root.written() + ">\n")
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.flushed("end a mutation file")
}

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

// ObjectElement is the element around an object that was published without one, in the namespace of the root element: the
// format wants one element there that stands for its modelObject (MUT-24).
const ObjectElement = "object"

// wrapped is the processing instruction before an ObjectElement that a writer put around an object. A reader that meets it
// gives the object as it was published, without that element.
const wrapped = "schakel-wrapped"

// wraps reports whether a state needs the element of the dataset around it: its outermost element is not in the namespace of
// the root, or it is the object itself.
func (w *Writer) wraps(s *State) bool {
	if w.object == "" {
		return false
	}
	local := s.outer.Local
	return s.outer.Space != w.root.Space || HasType(w.types, local) || s.Object == local && !strings.HasSuffix(strings.ToLower(local), ObjectElement)
}

// isWrapped reports whether the token announces an element that a writer put around an object.
func isWrapped(tok *xmlscan.Token) bool {
	return tok.Kind == xmlscan.Instruction && string(tok.Name) == wrapped
}
