package format

import (
	"bytes"
	"errors"
	"io"

	"schakel/delivery/mutation/format/xmlscan"
)

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
