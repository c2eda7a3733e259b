package format

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
	"schakel/registry/sorted"
)

// capture reads from the start tag that is the current token to its end tag. It gives the bytes, which hold until the
// next token, and fills in what the state can tell of itself.
func (s *State) capture(scan *xmlscan.Scanner, most int) ([]byte, error) {
	scan.Capture()
	depth := scan.Depth()
	s.outer = Name{Space: scan.Namespace(), Local: scan.Intern(xmlscan.Local(scan.Token().Name))}
	s.ownDefault, s.room = scan.Own(""), newRoom(scan)
	search := objectSearch{scan: scan, depth: depth}
	search.look(scan.Token())
	for {
		tok, err := scan.Next()
		if err != nil {
			return nil, err
		}
		if scan.Held() > most {
			return nil, xmlscan.NewLimit("a state or a group of more than %d bytes", most)
		}
		search.look(tok)
		s.room.look(scan)
		if tok.Kind == xmlscan.End && scan.Depth() == depth {
			s.Object, s.sound = search.found, true
			return scan.Captured(), nil
		}
	}
}

// objectSearch finds the name of the object's own element, going from first child to first child.
type objectSearch struct {
	scan  *xmlscan.Scanner
	depth int // of the outermost element
	found string
	done  bool
}

func (o *objectSearch) look(tok *xmlscan.Token) {
	if o.done {
		return
	}
	switch tok.Kind {
	case xmlscan.Start:
		local := xmlscan.Local(tok.Name)
		capital := local[0] >= 'A' && local[0] <= 'Z'
		if o.found == "" || capital {
			o.found = o.scan.Intern(local)
		}
		o.done = capital || o.scan.Depth() > o.depth+4
	case xmlscan.End: // only a first child of a first child counts
		o.done = true
		if o.found == "" {
			o.found = o.scan.Intern(xmlscan.Local(tok.Name))
		}
	}
}

// needed picks the declarations that a piece of XML may need: those its names use, those whose prefix and a colon
// occur anywhere in it, since values can hold names too, and the default.
func needed(raw []byte, outer []xmlscan.Outer) []Namespace {
	var out []Namespace
	for _, o := range outer {
		if o.URI == "" {
			continue
		}
		if o.Used || o.Prefix == "" || mentions(raw, o.Prefix) {
			if out == nil {
				out = make([]Namespace, 0, len(outer))
			}
			out = append(out, o.Namespace)
		}
	}
	sortNamespaces(out)
	return out
}

// mentions looks for a prefix with its colon, and no letter before it.
func mentions(raw []byte, prefix string) bool {
	var mark [64]byte
	text := append(append(mark[:0], prefix...), ':')
	for at := 0; ; at += len(text) {
		next := bytes.Index(raw[at:], text)
		if next < 0 {
			return false
		}
		if at += next; at == 0 || !wordByte(raw[at-1]) {
			return true
		}
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c >= 0x80
}

func sortNamespaces(list []Namespace) {
	sorted.By(list, func(a, b Namespace) int { return cmp.Compare(a.Prefix, b.Prefix) })
}

// Standalone gives the XML with the namespaces from outside declared on it.
func (s *State) Standalone() []byte {
	return s.appendTo(make([]byte, 0, len(s.XML)+100*len(s.Namespaces)), s.Namespaces)
}

// appendTo writes the XML with some declarations put in its first tag, behind the name.
func (s *State) appendTo(to []byte, declare []Namespace) []byte {
	name := max(0, bytes.IndexAny(s.XML, " \t\r\n/>"))
	to = append(to, s.XML[:name]...)
	for _, n := range declare {
		to = appendDeclaration(to, n)
	}
	return append(to, s.XML[name:]...)
}

// Declarations writes namespaces as attributes of a tag, each with a space before it.
func Declarations(list []Namespace) (to []byte) {
	for _, n := range list {
		to = appendDeclaration(to, n)
	}
	return to
}

func appendDeclaration(to []byte, n Namespace) []byte {
	to = append(to, " xmlns"...)
	if n.Prefix != "" {
		to = append(append(to, ':'), n.Prefix...)
	}
	return append(xmlscan.AppendEscaped(append(to, '=', '"'), n.URI), '"')
}

// ParseState checks that raw is one element that stands alone, with nothing but white space, comments and an XML
// declaration around it, and makes a state of it. The namespaces given count as declared around it.
func ParseState(id string, raw []byte, namespaces ...Namespace) (*State, error) {
	s := &State{ID: id, XML: raw, Namespaces: namespaces, Line: 1}
	if err := s.check(Limits{}.filled()); err != nil {
		return nil, err
	}
	return s, nil
}

// check reads the XML of a state that did not come from a reader, and leaves the element of it.
func (s *State) check(limits Limits) error {
	scan := xmlscan.New(bytes.NewReader(s.XML), xmlscan.Limits{Depth: limits.Depth, Token: limits.State})
	if err := scan.Declare(s.Namespaces); err != nil {
		return err
	}
	raw := s.XML
	for {
		tok, err := scan.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if tok.Kind != xmlscan.Start {
			continue
		}
		if space := scan.Namespace(); space == Namespace1 || space == Namespace2 {
			return malformed("an element of the format where an object belongs")
		}
		from := int(tok.Offset)
		held, err := s.capture(scan, limits.State)
		if err != nil {
			return err
		}
		s.XML = raw[from : from+len(held)]
		s.Namespaces = needed(held, scan.Outer(nil))
	}
}

const (
	// around counts the elements around a state in a file: the root, the message, the group, the mutation, its side,
	// and the element of the dataset.
	around = 6
	// aroundSpaces limits the namespaces that the elements around a state declare.
	aroundSpaces = 100
)

// room measures the nesting and the declarations of a state, which readers bound.
type room struct {
	from, bound int // elements and namespaces around it where it was read
	depth       int // elements in each other
	attributes  int // of its own element
	spaces      int // namespaces that are declared in it at once
}

func newRoom(scan *xmlscan.Scanner) room {
	r := room{from: scan.Depth() - 1, depth: 1, bound: scan.Bound(), attributes: len(scan.Token().Attrs)}
	for _, a := range scan.Token().Attrs {
		if _, is := xmlscan.Declares(a.Name); is {
			r.bound--
		}
	}
	r.look(scan)
	return r
}

// look is asked at each token of the state.
func (r *room) look(scan *xmlscan.Scanner) {
	r.depth, r.spaces = max(r.depth, scan.Depth()-r.from), max(r.spaces, scan.Bound()-r.bound)
}

// Fits reports why a state that could be read by itself, or in a file of somebody else, could not be read any more in one
// that is written here: there it has other elements and namespaces around it. Errors are ErrLimit (MUT-30).
func (s *State) Fits() error {
	needed := len(s.Namespaces) + 1 // the default may have to be undone
	if most := DefaultLimits().Depth - around; s.room.depth > most {
		return fmt.Errorf("%w: elements of a state more than %d deep", ErrLimit, most)
	}
	if most := xmlscan.MostAttributes; s.room.attributes+needed > most {
		return fmt.Errorf("%w: more than %d attributes of a state, with the namespaces that it needs", ErrLimit, most)
	}
	if most := xmlscan.MostNamespaces - aroundSpaces; s.room.spaces+needed > most {
		return fmt.Errorf("%w: more than %d namespaces of a state at once", ErrLimit, most)
	}
	return nil
}

// Digest is the same for two states whose objects have the same fields, however they are written: prefixes, the order
// of attributes, comments, and white space between elements do not count. It serves to compare a WAS with the state it
// refers to (MUT-15, MUT-17).
func (s *State) Digest() ([sha256.Size]byte, error) {
	scan := xmlscan.New(bytes.NewReader(s.XML), xmlscan.Limits{Depth: DefaultLimits().Depth})
	if err := scan.Declare(s.Namespaces); err != nil {
		return [sha256.Size]byte{}, err
	}
	d := digest{scan: scan, sum: sha256.New()}
	for {
		tok, err := scan.Next()
		if errors.Is(err, io.EOF) {
			return [sha256.Size]byte(d.sum.Sum(nil)), nil
		}
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		d.take(tok)
	}
}

// digest writes each piece with a mark of its kind before it and a byte behind it that XML cannot hold.
type digest struct {
	scan *xmlscan.Scanner
	sum  hash.Hash
	text []byte
	line []byte
}

func (d *digest) take(tok *xmlscan.Token) {
	switch tok.Kind {
	case xmlscan.Text:
		if d.scan.Depth() > 0 {
			d.text = xmlscan.AppendText(d.text, tok.Text)
		}
	case xmlscan.CData:
		d.text = xmlscan.AppendCData(d.text, tok.Text)
	case xmlscan.Start:
		d.flush()
		d.write('<', d.scan.Namespace(), string(xmlscan.Local(tok.Name)))
		d.attributes(tok.Attrs)
	case xmlscan.End:
		d.flush()
		d.write('>')
	}
}

// flush writes the text that came so far, unless it is white space only.
func (d *digest) flush() {
	if !blank(d.text) {
		d.write('t')
		d.sum.Write(d.text)
		d.write(0)
	}
	d.text = d.text[:0]
}

func (d *digest) write(kind byte, parts ...string) {
	d.line = append(d.line[:0], kind)
	for _, p := range parts {
		d.line = append(append(d.line, p...), 0)
	}
	d.sum.Write(d.line)
}

func (d *digest) attributes(attrs []xmlscan.Attr) {
	if len(attrs) == 0 {
		return
	}
	var list [][3]string
	for _, a := range attrs {
		if _, is := xmlscan.Declares(a.Name); !is {
			list = append(list, [3]string{d.scan.AttrNamespace(a), string(xmlscan.Local(a.Name)), xmlscan.Value(a.Value)})
		}
	}
	sorted.By(list, func(a, b [3]string) int { return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1]) })
	for _, a := range list {
		d.write('@', a[:]...)
	}
}
