package xmlscan

import (
	"bytes"
	"strings"
)

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

// markup reads a token that starts with <.
func (s *Scanner) markup() error {
	more, err := s.have(2)
	if err != nil || !more {
		return truncated(err)
	}
	switch s.buf[s.tok+1] {
	case '/':
		return s.endTag()
	case '?':
		return s.instruction()
	case '!':
		return s.declaration()
	}
	return s.startTag()
}

func truncated(err error) error {
	if err != nil {
		return err
	}
	return &SyntaxError{Err: ErrTruncated}
}

// until finds the end mark of a token and takes it into the token.
func (s *Scanner) until(mark string, from int) ([]byte, error) {
	at, err := s.find(mark, from, s.limits.Token)
	if err != nil || at < 0 {
		return nil, truncated(err)
	}
	s.size = at + len(mark)
	return s.view(from, at), nil
}

func (s *Scanner) declaration() error {
	more, err := s.have(len("<![CDATA["))
	if err != nil {
		return err
	}
	head := s.view(0, min(s.end-s.tok, len("<![CDATA[")))
	switch {
	case bytes.HasPrefix(head, []byte("<!--")):
		return s.comment()
	case bytes.HasPrefix(head, []byte("<!D")):
		return &SyntaxError{Err: ErrDoctype}
	case string(head) == "<![CDATA[" && len(s.opens) > 0:
		return s.cdata()
	case !more:
		return truncated(nil)
	}
	return malformed("a declaration that is none")
}

func (s *Scanner) comment() error {
	s.tokens.Kind = Comment
	if _, err := s.until("--", len("<!--")); err != nil {
		return err
	}
	if more, err := s.have(s.size + 1); err != nil || !more {
		return truncated(err)
	}
	if s.buf[s.tok+s.size] != '>' {
		return malformed("-- in a comment")
	}
	text := s.view(len("<!--"), s.size-len("--"))
	s.size++
	return checkText(text, false)
}

func (s *Scanner) cdata() error {
	text, err := s.until("]]>", len("<![CDATA["))
	s.tokens.Kind, s.tokens.Text = CData, text
	if err != nil {
		return err
	}
	return checkText(text, false)
}

func (s *Scanner) instruction() error {
	s.tokens.Kind = Instruction
	text, err := s.until("?>", len("<?"))
	if err != nil {
		return err
	}
	target, rest := text, []byte(nil)
	if at := bytes.IndexAny(text, " \t\r\n"); at >= 0 {
		target, rest = text[:at], text[at:]
	}
	if !checkPart(target) {
		return malformed("the processing instruction %.60q", target)
	}
	s.tokens.Name = target
	if strings.EqualFold(string(target), "xml") {
		return s.prolog(string(target), rest)
	}
	return checkText(rest, false)
}

// prolog takes the XML declaration: version 1.x, UTF-8, at the very start.
func (s *Scanner) prolog(target string, rest []byte) error {
	if start := s.offset(); target != "xml" || start != 0 && (start != 3 || !s.bom) {
		return malformed("an XML declaration that is not at the start")
	}
	s.tokens.Attrs = s.tokens.Attrs[:0]
	if err := s.attributes(rest); err != nil {
		return err
	}
	order := []string{"version", "encoding", "standalone"}
	for i, a := range s.tokens.Attrs {
		for len(order) > 0 && order[0] != string(a.Name) && i > 0 {
			order = order[1:]
		}
		if string(a.Name) == "encoding" && !declared("encoding", string(a.Value)) {
			return malformed("it says that it is in %.40q; only UTF-8 is read", a.Value)
		}
		if len(order) == 0 || order[0] != string(a.Name) || !declared(order[0], string(a.Value)) {
			return malformed("the XML declaration says %.20s=%.40q", a.Name, a.Value)
		}
		order = order[1:]
	}
	if len(s.tokens.Attrs) == 0 {
		return malformed("an XML declaration without a version")
	}
	s.tokens.Attrs = s.tokens.Attrs[:0]
	return nil
}

func declared(name, value string) bool {
	switch name {
	case "version":
		return value == "1.0"
	case "encoding":
		return strings.EqualFold(value, "utf-8") || strings.EqualFold(value, "us-ascii")
	}
	return value == "yes" || value == "no"
}
