package xmlscan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrEncoding reports that a document is not in UTF-8 or UTF-16, or says one encoding and is in another.
var ErrEncoding = errors.New("document is not encoded in UTF-8 or UTF-16")

// Decode gives a document in UTF-8 without a byte order mark. It takes UTF-8, and UTF-16 with a byte order mark or
// with a recognisable first character. Errors wrap ErrEncoding, or ErrTooLarge.
func Decode(doc []byte) ([]byte, error) {
	if len(doc) > MaxBytes {
		return nil, &SyntaxError{Line: 1, Column: 1, Err: ErrTooLarge}
	}
	text, wide, err := unwrap(doc)
	if err != nil {
		return nil, err
	}
	if err := agree(text, wide); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: line %d has bytes that are not UTF-8", ErrEncoding, invalidLine(text))
	}
	return text, nil
}

// unwrap takes the byte order mark off, and reports whether the document was in UTF-16.
func unwrap(doc []byte) (text []byte, wide bool, err error) {
	for _, form := range []struct {
		mark  string
		keep  bool
		order binary.ByteOrder
	}{
		{"\xFE\xFF", false, binary.BigEndian},
		{"\xFF\xFE", false, binary.LittleEndian},
		{"\x00<", true, binary.BigEndian},
		{"<\x00", true, binary.LittleEndian},
	} {
		if rest, ok := bytes.CutPrefix(doc, []byte(form.mark)); ok {
			if form.keep {
				rest = doc
			}
			text, err = narrow(rest, form.order)
			return text, true, err
		}
	}
	return bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF")), false, nil
}

func narrow(doc []byte, order binary.ByteOrder) ([]byte, error) {
	if len(doc)%2 != 0 {
		return nil, fmt.Errorf("%w: UTF-16 with an odd number of bytes", ErrEncoding)
	}
	out := make([]byte, 0, len(doc)/2+len(doc)/8)
	for i := 0; i < len(doc); i += 2 {
		r := rune(order.Uint16(doc[i:]))
		if utf16.IsSurrogate(r) {
			if i += 2; i >= len(doc) {
				return nil, fmt.Errorf("%w: UTF-16 that ends in half a character", ErrEncoding)
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(doc[i:]))); r == utf8.RuneError {
				return nil, fmt.Errorf("%w: UTF-16 with half a character", ErrEncoding)
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

// declaration finds the encoding in an XML declaration.
var declaration = regexp.MustCompile(`^<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']`)

// agree checks that the declared encoding is the one in use.
func agree(text []byte, wide bool) error {
	found := declaration.FindSubmatch(text[:min(len(text), 400)])
	if found == nil {
		return nil
	}
	name := strings.ToLower(string(found[1]))
	switch {
	case wide && (strings.HasPrefix(name, "utf-16") || name == "unicode"):
		return nil
	case !wide && (name == "utf-8" || name == "utf8" || name == "us-ascii" || name == "ascii"):
		return nil
	}
	return fmt.Errorf("%w: it declares %s", ErrEncoding, name)
}

// invalidLine finds the first line that is not UTF-8.
func invalidLine(text []byte) int {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[size:]
	}
	return line
}
