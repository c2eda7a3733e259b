// Package xmlscan reads XML of unknown senders strictly: the messages of the health exchange and the agreements of its registers.
//
// It refuses document types and every entity but the five of XML, bounds the size, the depth, the number of elements and the
// number of attributes, and requires that each prefix is declared. Decode finds the encoding; a Reader gives token by token, so
// that the head of a document can be had when what follows is broken; Parse gives the whole document as a tree of Nodes.
//
// A document stands in memory whole, and time grows linearly with its size. Files of mutations are too large for that and
// have to leave byte for byte as they came: delivery/mutation/format/xmlscan reads those.
//
// The package imports nothing of ours, so that any layer may import it.
package xmlscan

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of a document.
const (
	// MaxBytes is the most a document may be. Brokers of the health exchange take 16 MiB.
	MaxBytes = 32 << 20
	// MaxDepth limits the nesting of elements.
	MaxDepth = 100
	// MaxElements limits the elements of a document.
	MaxElements = 500_000
	// MaxAttributes limits the attributes of one element.
	MaxAttributes = 64

	maxNamespaces = 256
	xmlNamespace  = "http://www.w3.org/XML/1998/namespace"
)

// Errors of a document that this package does not read, wrapped in a *SyntaxError.
var (
	// ErrTooLarge reports that a document passes one of the bounds.
	ErrTooLarge = errors.New("document passes the bounds")
	// ErrDocumentType reports that a document has a DOCTYPE, which is never needed and often an attack.
	ErrDocumentType = errors.New("document type declarations are not allowed")
)

// SyntaxError gives the place from which a document can no longer be read. Line and Column count from 1; Column is 0 when a reader
// that skims has left out text.
type SyntaxError struct {
	Line, Column int
	Err          error
}

// Error gives the place and the cause. The cause may quote a name of the document, never its text.
func (e *SyntaxError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap gives the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Reader hands out the tokens of one document.
type Reader struct {
	src        *source
	dec        *xml.Decoder
	depth      int
	elements   int
	limits     Limits
	rooted     bool
	namespaces map[string]bool
	err        error
}

// Limits bound a document more tightly than MaxDepth and MaxElements do.
type Limits struct{ Depth, Elements int }

// NewReader reads a document in UTF-8, as Decode gives it.
func NewReader(doc []byte) *Reader { return newReader(doc, Limits{MaxDepth, MaxElements}) }

func newReader(doc []byte, limits Limits) *Reader {
	r := &Reader{src: &source{doc: doc}, limits: limits, namespaces: map[string]bool{"": true, xmlNamespace: true}}
	r.dec = xml.NewDecoder(r.src)
	// The bytes are UTF-8 whatever the declaration says: Decode has seen to it.
	r.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	if len(doc) > MaxBytes {
		r.err = &SyntaxError{Line: 1, Column: 1, Err: ErrTooLarge}
	}
	return r
}

// Depth counts the open elements.
func (r *Reader) Depth() int { return r.depth }

// Skim makes the reader leave out parts of long texts from here on, for a caller that looks at elements only. It is
// many times faster on attachments.
func (r *Reader) Skim() { r.src.skim = true }

// Line tells the line the reader is at, from 1.
func (r *Reader) Line() int {
	line, _ := r.dec.InputPos()
	return line + r.src.lines
}

// Next gives the next xml.StartElement, xml.EndElement or xml.CharData, and io.EOF after a whole document. A CharData
// is valid until the next call. After an error every call gives that error.
func (r *Reader) Next() (xml.Token, error) {
	for r.err == nil {
		token, err := r.dec.Token()
		if err != nil {
			r.fail(r.ended(err))
			break
		}
		if known, err := r.accept(token); err != nil {
			r.fail(err)
		} else if known {
			return token, nil
		}
	}
	return nil, r.err
}

// ended turns the end of the input into an error when the document is not whole.
func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) && (r.depth > 0 || !r.rooted) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fail keeps the first error, with its place.
func (r *Reader) fail(err error) {
	if errors.Is(err, io.EOF) {
		r.err = io.EOF
		return
	}
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		err = errors.New(syntax.Msg)
	}
	_, column := r.dec.InputPos()
	if r.src.cut {
		column = 0
	}
	r.err = &SyntaxError{Line: r.Line(), Column: column, Err: err}
}

// accept checks a token against the bounds, and reports whether the caller gets it.
func (r *Reader) accept(token xml.Token) (bool, error) {
	switch t := token.(type) {
	case xml.StartElement:
		return true, r.open(t)
	case xml.EndElement:
		r.depth--
		return true, nil
	case xml.CharData:
		if r.depth == 0 && len(bytes.TrimSpace(t)) > 0 {
			return false, errors.New("text outside the root element")
		}
		return r.depth > 0, nil
	case xml.Directive:
		return false, ErrDocumentType
	}
	return false, nil
}

// open counts an element and checks its names.
func (r *Reader) open(start xml.StartElement) error {
	if r.depth == 0 && r.rooted {
		return errors.New("more than one root element")
	}
	r.rooted = true
	r.depth++
	r.elements++
	if r.depth > r.limits.Depth || r.elements > r.limits.Elements || len(start.Attr) > MaxAttributes {
		return ErrTooLarge
	}
	return r.names(start)
}

// names checks that attributes are unique and prefixes declared. The standard decoder checks neither: it leaves the
// prefix of an undeclared name where the namespace should be.
func (r *Reader) names(start xml.StartElement) error {
	for i, a := range start.Attr {
		if a.Name.Space == "xmlns" || (a.Name.Space == "" && a.Name.Local == "xmlns") {
			r.namespaces[a.Value] = true
		}
		for _, b := range start.Attr[:i] {
			if a.Name == b.Name {
				return fmt.Errorf("attribute %s is given twice", short(a.Name.Local))
			}
		}
	}
	if len(r.namespaces) > maxNamespaces {
		return ErrTooLarge
	}
	if !r.namespaces[start.Name.Space] {
		return fmt.Errorf("prefix %s is not declared", short(start.Name.Space))
	}
	for _, a := range start.Attr {
		if a.Name.Space != "xmlns" && !r.namespaces[a.Name.Space] {
			return fmt.Errorf("prefix %s is not declared", short(a.Name.Space))
		}
	}
	return nil
}

// short keeps a name of the document from filling a log line.
func short(name string) string {
	const most = 60
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}

// Runs of text longer than minRun are passed over when a reader skims, but for their last tail bytes.
const (
	minRun = 1024
	tail   = 16
)

// source feeds a document to the decoder byte by byte. The decoder is slow on long text, and attachments are long
// text: a source that skims passes over the middle of it. It does so only for letters, digits, white space and what
// else stands in base64, and only from a > on. What follows a > up to the next other character is never part of a name,
// so leaving some of it out can neither break a document nor mend it.
type source struct {
	doc  []byte
	at   int
	skim bool
	// seen is the end of the last run that was looked at.
	seen int
	// lines are the line ends that were passed over, and cut reports whether anything was.
	lines int
	cut   bool
}

// ReadByte gives the next byte.
func (s *source) ReadByte() (byte, error) {
	if s.at >= len(s.doc) {
		return 0, io.EOF
	}
	if s.skim && s.at >= s.seen && s.at > 0 && s.doc[s.at-1] == '>' {
		s.pass()
	}
	b := s.doc[s.at]
	s.at++
	return b, nil
}

// pass leaves out the run that starts here, when it is long.
func (s *source) pass() {
	end := s.at
	for end < len(s.doc) && plainText(s.doc[end]) {
		end++
	}
	s.seen = end
	if end-s.at > minRun {
		s.lines += bytes.Count(s.doc[s.at:end-tail], []byte{'\n'})
		s.at = end - tail
		s.cut = true
	}
}

// Read gives bytes as a Reader does; the decoder takes them one by one.
func (s *source) Read(p []byte) (int, error) {
	for i := range p {
		b, err := s.ReadByte()
		if err != nil {
			if i > 0 {
				return i, nil
			}
			return 0, err
		}
		p[i] = b
	}
	return len(p), nil
}

// plainText reports whether a byte is a letter, a digit, white space, or another character of base64.
func plainText(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	return b == '+' || b == '/' || b == '=' || b == '\n' || b == '\r' || b == ' ' || b == '\t'
}
