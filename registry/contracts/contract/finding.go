package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"schakel/registry/jsonpointer"
	"schakel/registry/sorted"
	"schakel/templates/i18n"
)

// The severities of a finding. A document with an error cannot be published.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// Finding is one thing that is wrong with a document.
type Finding struct {
	// Severity is SeverityError, SeverityWarning or SeverityInfo.
	Severity string
	// Code names the rule in kebab-case and stays the same for ever.
	Code string
	// Pointer is the JSON Pointer (RFC 6901) of the place, empty for the whole document.
	Pointer string
	// Line and Column count from 1, Column in code points. Line is 0 when the place is not known.
	Line, Column int
	// File is the file of a zip where the place comes from, and FileLine the line there; empty for the document itself.
	File     string `json:",omitempty"`
	FileLine int    `json:",omitempty"`
	// Detail names the fault, Remedy the way to mend it.
	Detail, Remedy i18n.Message
}

// maxFindings keeps the answer to a document that is wrong all over readable.
const maxFindings = 200

// HasErrors reports whether one of the findings is of severity error.
func HasErrors(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityError })
}

// CodeReferenceMissing is the code of a reference to something that was not uploaded. A document without other errors can
// be kept as a draft, to be mended by uploading the rest, and is not published before.
const CodeReferenceMissing = "reference-missing"

// Missing gives the findings about files that were not uploaded.
func Missing(findings []Finding) []Finding {
	var list []Finding
	for _, f := range findings {
		if f.Code == CodeReferenceMissing {
			list = append(list, f)
		}
	}
	return list
}

// Refused reports whether a document cannot even be stored as a draft: it has errors other than that something is missing.
func Refused(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityError && f.Code != CodeReferenceMissing })
}

// tidy sorts findings by place, drops those said before and cuts a very long list.
func tidy(findings []Finding) []Finding {
	sorted.Stable(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	findings = slices.Compact(findings)
	if len(findings) <= maxFindings {
		return findings
	}
	left := len(findings) - maxFindings
	// An error must stay visible even when warnings stand before it.
	sorted.Stable(findings, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
	return append(findings[:maxFindings:maxFindings], Finding{
		Severity: SeverityInfo, Code: "findings-cut",
		Detail: i18n.M("findings.findings-cut", left),
		Remedy: "findings.findings-cut-remedy",
	})
}

func rank(severity string) int {
	return slices.Index([]string{SeverityError, SeverityWarning, SeverityInfo}, severity)
}

// quoteValue writes a value of the document for use in a sentence, shortened when long.
func quoteValue(value any) i18n.Message {
	if object, ok := value.(map[string]any); ok {
		return i18n.M("findings.member-kind-object", len(object))
	}
	if list, ok := value.([]any); ok {
		return i18n.M("findings.member-kind-list", len(list))
	}
	written, err := json.Marshal(value)
	if err != nil {
		return "findings.a-value"
	}
	return i18n.Raw(shorten(string(written), 80))
}

// shorten cuts text to at most limit bytes, at a whole character.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// Place fills in the line and column of findings that others made, from their pointers, and gives them back. Those that
// have a line already keep it.
func (d *Document) Place(findings []Finding) []Finding { return d.place(findings) }

// Trace fills in the files of the zip that findings which others made come from; nothing for a document by itself.
func (u *Upload) Trace(findings []Finding) { u.trace(findings) }

// problem explains why a document could not be read. It gets a path while the readers return from where it was met.
type problem struct {
	code           string
	detail, remedy i18n.Message
	offset         int // in bytes; used when line is 0
	line, column   int
	path           []string // innermost first
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

// tooMany refuses a document that is over a limit; the key is of a text with the limit as its argument.
func tooMany(code, key string, limit int) *problem {
	return &problem{
		code:   code,
		detail: i18n.M(key, limit),
		remedy: "findings.too-many-remedy",
	}
}

func tooDeep(limit int) *problem {
	return tooMany("document-too-deep", "findings.too-many-levels", limit)
}

// maxPath bounds the pointers that findings carry, in bytes of the member names on the way.
const maxPath = 8 << 10

func pathTooLong() *problem {
	return tooMany("document-path-too-long", "findings.too-many-path-bytes", maxPath)
}

func tooManyNodes(limit int) *problem {
	return tooMany("document-too-many-nodes", "findings.too-many-values", limit)
}

func duplicateKey(key string) *problem {
	return &problem{
		code:   "duplicate-key",
		detail: i18n.M("findings.duplicate-key", shorten(key, 80)),
		remedy: "findings.duplicate-key-remedy",
	}
}

func badNumber(text string) *problem {
	return &problem{
		code:   "number-out-of-range",
		detail: i18n.M("findings.number-out-of-range", shorten(text, 40)),
		remedy: "findings.number-out-of-range-remedy",
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
		detail: "findings.invalid-utf8", remedy: "findings.invalid-utf8-remedy",
	}
}
