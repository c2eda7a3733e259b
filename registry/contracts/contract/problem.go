package contract

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"schakel/registry/jsonpointer"
)

// problem explains why a document could not be read. It gets a path while the readers return from where it was met.
type problem struct {
	code, detail, remedy string
	offset               int // in bytes; used when line is 0
	line, column         int
	path                 []string // innermost first
}

// within notes that the problem lies in the member or item with this name.
func (p *problem) within(token string) *problem {
	p.path = append(p.path, token)
	return p
}

func (p *problem) finding(content []byte) Finding {
	slices.Reverse(p.path)
	f := Finding{
		Severity: SeverityError, Code: p.code, Pointer: jsonpointer.Join(p.path...),
		Line: p.line, Column: p.column, Detail: p.detail, Remedy: p.remedy,
	}
	if f.Line == 0 {
		f.Line, f.Column = lineColumn(content, p.offset)
	}
	placed := []Finding{f}
	clamp(placed, content)
	return placed[0]
}

// lineColumn gives the place of a byte, both from 1, the column in code points.
func lineColumn(content []byte, offset int) (line, column int) {
	before := bytes.TrimPrefix(content[:min(offset, len(content))], []byte("\ufeff"))
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

func tooMany(code string, limit int, what string) *problem {
	return &problem{
		code:   code,
		detail: fmt.Sprintf("The document has more than %d %s.", limit, what),
		remedy: "Split the contract into smaller ones, or ask the administrator to raise the limit.",
	}
}

func tooDeep(limit int) *problem {
	return tooMany("document-too-deep", limit, "levels of nesting")
}

// maxPath bounds the pointers that findings carry, in bytes of the member names on the way.
const maxPath = 8 << 10

func pathTooLong() *problem {
	return tooMany("document-path-too-long", maxPath, "bytes of member names on the way to one place")
}

func tooManyNodes(limit int) *problem {
	return tooMany("document-too-many-nodes", limit, "values and member names")
}

func duplicateKey(key string) *problem {
	return &problem{
		code:   "duplicate-key",
		detail: fmt.Sprintf("The member %q stands here twice.", shorten(key, 80)),
		remedy: "Keep one of the two: programs do not agree on which one counts.",
	}
}

func badNumber(text string) *problem {
	return &problem{
		code:   "number-out-of-range",
		detail: fmt.Sprintf("The number %s cannot be kept exactly.", shorten(text, 40)),
		remedy: "Use a number of at most 400 digits and an exponent of at most 400, or write it as a text.",
	}
}

func invalidUTF8(content []byte) *problem {
	offset := 0
	for offset < len(content) {
		r, size := utf8.DecodeRune(content[offset:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		offset += size
	}
	return &problem{
		code: "invalid-utf8", offset: offset,
		detail: "The document is not valid UTF-8.", remedy: "Save it as UTF-8.",
	}
}
