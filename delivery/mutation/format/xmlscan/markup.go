package xmlscan

import (
	"bytes"
	"strings"
)

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
