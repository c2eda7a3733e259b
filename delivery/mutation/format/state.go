package format

import (
	"bytes"
	"cmp"
	"slices"

	"schakel/delivery/mutation/format/xmlscan"
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
	slices.SortFunc(list, func(a, b Namespace) int { return cmp.Compare(a.Prefix, b.Prefix) })
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
