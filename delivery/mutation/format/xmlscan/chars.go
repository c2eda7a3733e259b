package xmlscan

import (
	"bytes"
	"unicode/utf8"
)

// checkText refuses characters XML does not allow, bytes that are not UTF-8, references to entities we do not know
// and, in text of an element, the end mark of a CDATA section.
func checkText(text []byte, markup bool) error {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= ' ' && c < utf8.RuneSelf && c != '&' && c != ']' && c != '<', c == '\n', c == '\t', c == '\r':
			i++
		case c == '&' && markup:
			n, err := reference(text[i:])
			if err != nil {
				return err
			}
			i += n
		case c == '<' && markup:
			return malformed("a < in the value of an attribute")
		case c == ']' && markup && bytes.HasPrefix(text[i:], []byte("]]>")):
			return malformed("]]> in text")
		case c < ' ':
			return malformed("the control character 0x%02x", c)
		default:
			n, err := character(text[i:])
			if err != nil {
				return err
			}
			i += n
		}
	}
	return nil
}

func character(text []byte) (int, error) {
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && n <= 1 {
		return 0, malformed("bytes that are not UTF-8")
	}
	if !valid(r) {
		return 0, malformed("the character U+%04X", r)
	}
	return n, nil
}

// valid is the production Char of XML 1.0.
func valid(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD ||
		r >= 0x10000 && r <= utf8.MaxRune
}

// checkName refuses what is not a qualified name: a name, or two with a colon between them.
func checkName(name []byte) error {
	colon := bytes.IndexByte(name, ':')
	if colon >= 0 && checkPart(name[:colon]) && checkPart(name[colon+1:]) || colon < 0 && checkPart(name) {
		return nil
	}
	return malformed("the name %.60q", name)
}

func checkPart(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	for i := 0; i < len(name); {
		c := rune(name[i])
		n := 1
		if c >= utf8.RuneSelf {
			if c, n = utf8.DecodeRune(name[i:]); c == utf8.RuneError && n <= 1 {
				return false
			}
		}
		if !nameStart(c) && (i == 0 || !nameRest(c)) {
			return false
		}
		i += n
	}
	return true
}

// nameStart is the production NameStartChar of XML 1.0 without the colon.
func nameStart(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
	}
	for _, span := range [...][2]rune{
		{0xC0, 0xD6},
		{0xD8, 0xF6},
		{0xF8, 0x2FF},
		{0x370, 0x37D},
		{0x37F, 0x1FFF},
		{0x200C, 0x200D},
		{0x2070, 0x218F},
		{0x2C00, 0x2FEF},
		{0x3001, 0xD7FF},
		{0xF900, 0xFDCF},
		{0xFDF0, 0xFFFD},
		{0x10000, 0xEFFFF},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

// nameRest holds the characters that NameChar adds to NameStartChar.
func nameRest(r rune) bool {
	return r >= '0' && r <= '9' || r == '-' || r == '.' || r == 0xB7 || r >= 0x300 && r <= 0x36F ||
		r >= 0x203F && r <= 0x2040
}

// CheckName reports why a prefix, which may be empty, and a local name make no qualified name.
func CheckName(prefix, local string) error {
	if !checkPart([]byte(local)) || prefix != "" && !checkPart([]byte(prefix)) {
		return malformed("the name %.60q", prefix+":"+local)
	}
	return nil
}
