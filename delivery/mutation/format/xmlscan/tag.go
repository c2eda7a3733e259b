package xmlscan

import "bytes"

// startTag reads <name attributes> or <name attributes/>.
func (s *Scanner) startTag() error {
	if len(s.opens) == 0 && s.rooted {
		return malformed("a second root element")
	}
	end, err := s.tagEnd()
	if err != nil {
		return err
	}
	s.size = end + 1
	if s.buf[s.tok+end-1] == '/' {
		s.tokens.Empty = true
		end--
	}
	text := s.view(1, end)
	name := text
	if at := bytes.IndexAny(text, " \t\r\n"); at >= 0 {
		name = text[:at]
	}
	if err := checkName(name); err != nil {
		return err
	}
	if err := s.attributes(text[len(name):]); err != nil {
		return err
	}
	s.tokens.Kind, s.tokens.Name = Start, name
	s.rooted, s.empty = true, s.tokens.Empty
	return s.open(name)
}

// tagEnd finds the > that ends the tag: the first one that is not in quotes.
func (s *Scanner) tagEnd() (int, error) {
	quote := byte(0)
	for i := 1; ; i++ {
		if s.tok+i >= s.end {
			if i > s.limits.Token {
				return 0, NewLimit("a tag of more than %d bytes", s.limits.Token)
			}
			if more, err := s.have(i + 1); err != nil || !more {
				return 0, truncated(err)
			}
		}
		switch c := s.buf[s.tok+i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i, nil
		case c == '<':
			return 0, malformed("a < in a tag")
		}
	}
}

// attributes reads name="value" as often as it stands there.
func (s *Scanner) attributes(text []byte) error {
	for {
		rest := bytes.TrimLeft(text, " \t\r\n")
		if len(rest) == 0 {
			return nil
		}
		if len(rest) == len(text) {
			return malformed("no space before an attribute")
		}
		if len(s.tokens.Attrs) >= s.limits.Attributes {
			return NewLimit("more than %d attributes", s.limits.Attributes)
		}
		attr, left, err := attribute(rest)
		if err != nil {
			return err
		}
		s.tokens.Attrs = append(s.tokens.Attrs, attr)
		text = left
	}
}

func attribute(text []byte) (Attr, []byte, error) {
	is := bytes.IndexByte(text, '=')
	if is < 0 {
		return Attr{}, nil, malformed("an attribute without a value")
	}
	name := bytes.TrimRight(text[:is], " \t\r\n")
	if err := checkName(name); err != nil {
		return Attr{}, nil, err
	}
	text = bytes.TrimLeft(text[is+1:], " \t\r\n")
	if len(text) == 0 || text[0] != '"' && text[0] != '\'' {
		return Attr{}, nil, malformed("a value without quotes")
	}
	end := bytes.IndexByte(text[1:], text[0])
	if end < 0 {
		return Attr{}, nil, malformed("a value without its closing quote")
	}
	value := text[1 : end+1]
	// The end mark of a CDATA section is allowed in a value, so values are checked in pieces around it.
	for rest := value; len(rest) > 0; {
		piece := rest
		if at := bytes.Index(rest, []byte("]]>")); at >= 0 {
			piece = rest[:at+1]
		}
		if err := checkText(piece, true); err != nil {
			return Attr{}, nil, err
		}
		rest = rest[len(piece):]
	}
	return Attr{Name: name, Value: value}, text[end+2:], nil
}

func (s *Scanner) endTag() error {
	text, err := s.until(">", len("</"))
	if err != nil {
		return err
	}
	name := bytes.TrimRight(text, " \t\r\n")
	if len(s.opens) == 0 {
		return malformed("the end of %.60q, which was not begun", name)
	}
	begun := s.names[s.opens[len(s.opens)-1]:]
	if !bytes.Equal(name, begun) {
		return malformed("the end of %.60q where %.60q is open", name, begun)
	}
	s.tokens.Kind, s.tokens.Name, s.closing = End, name, true
	return nil
}

// open notes that an element began, and checks its names against the namespaces.
func (s *Scanner) open(name []byte) error {
	if len(s.opens) >= s.limits.Depth {
		return NewLimit("elements more than %d deep", s.limits.Depth)
	}
	s.opens = append(s.opens, len(s.names))
	s.names = append(s.names, name...)
	return s.scope.enter(len(s.opens), &s.tokens, s.limits.Namespaces)
}

func (s *Scanner) close() {
	last := len(s.opens) - 1
	s.scope.leave(last + 1)
	s.names = s.names[:s.opens[last]]
	s.opens = s.opens[:last]
}
