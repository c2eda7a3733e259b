// Package xsd validates business documents against the XML schemas that an operator puts in a folder (AMQP-111). The
// schemas of the health exchange carry no licence, so none comes with the program.
//
// All schemas of the folder are compiled into one set, because a MsgHead demands that the documents in it are valid by
// schemas of their own. Nothing outside the folder is read and nothing is fetched: a schema that names another place is
// refused when the set is loaded, with its file and line.
//
// The schemas are of XSD 1.0. What the validator does not take, which is xs:redefine and some escapes of regular expressions
// (\i, \c, Unicode blocks, subtraction of classes), is refused when the set is loaded, with its file and line.
package xsd

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jacoelho/xsd"
	"github.com/jacoelho/xsd/xsderrors"
	"golang.org/x/sync/semaphore"
	"schakel/registry/sorted"
	"schakel/registry/xmlscan"
)

// Bounds.
const (
	maxFiles    = 500
	maxFile     = 8 << 20
	maxFindings = 100
	// together bounds the bytes of documents that are validated at once, and so the memory that this takes.
	together = xmlscan.MaxBytes
)

// Errors of this package.
var (
	// ErrNoSchema reports that the set has no schema for a document, or for a document within it. What that means is a
	// setting of the operator; it is never a fault of the sender.
	ErrNoSchema = errors.New("no schema for this namespace")
	// ErrNotXML reports that a document is not well-formed, or passes the bounds.
	ErrNotXML = errors.New("document cannot be read as XML")
	// ErrFolder reports that a folder has no schema that can be used.
	ErrFolder = errors.New("schemas cannot be loaded")
)

// Set is a compiled set of schemas, safe for concurrent use. A nil Set has no schema at all.
type Set struct {
	engine     *xsd.Engine
	namespaces map[string]string // the file that defines it, by namespace
	bytes      *semaphore.Weighted
}

// Finding is a place where a document is not valid. Text may quote the content of the document: it may go to the sender
// of the message and to the operator, and not into a log.
type Finding struct {
	// Line counts from 1; 0 when the place is not known.
	Line int
	// Path leads from the root to the element, as in /MsgHead/MsgInfo/GenDate.
	Path string
	Text string
}

// String gives a finding in one line.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("line %d, %s: %s", f.Line, f.Path, f.Text)
}

// LoadError describes a problem of a file of the folder. It wraps ErrFolder.
type LoadError struct {
	// File is relative to the folder.
	File string
	// Line counts from 1; 0 when the place is not known.
	Line int
	Text string
}

// Error gives the place and the cause.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Unwrap gives ErrFolder.
func (e *LoadError) Unwrap() error { return ErrFolder }

// NoSchemaError names a namespace without a schema. It wraps ErrNoSchema.
type NoSchemaError struct{ Namespace string }

// Error names the namespace.
func (e *NoSchemaError) Error() string {
	name := e.Namespace
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return fmt.Sprintf("%v: %q", ErrNoSchema, name)
}

// Unwrap gives ErrNoSchema.
func (e *NoSchemaError) Unwrap() error { return ErrNoSchema }

// Has reports whether there is a schema for a namespace.
func (s *Set) Has(namespace string) bool {
	if s == nil {
		return false
	}
	_, ok := s.namespaces[namespace]
	return ok
}

// Schema is one namespace of a set and the file that defines it, relative to the folder.
type Schema struct{ Namespace, File string }

// Schemas lists what the folder defines, by namespace.
func (s *Set) Schemas() []Schema {
	if s == nil {
		return nil
	}
	var all []Schema
	for namespace, file := range s.namespaces {
		if file != "" { // a schema of our own
			all = append(all, Schema{Namespace: namespace, File: file})
		}
	}
	sorted.By(all, func(a, b Schema) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all
}

const msgHead = "http://www.kith.no/xmlstds/msghead/2006-05-24"

// Validate checks a document, in UTF-8 or UTF-16, against the schema of its root element; of a SOAP envelope the
// message in the body is checked. No findings and no error mean that the document is valid. Errors wrap ErrNoSchema,
// ErrNotXML or the error of the context; any other is an internal fault and says nothing about the document.
func (s *Set) Validate(ctx context.Context, doc []byte) (found []Finding, err error) {
	if s == nil {
		return nil, ErrNoSchema
	}
	weight := min(int64(len(doc)), together)
	if err := s.bytes.Acquire(ctx, weight); err != nil {
		return nil, fmt.Errorf("validate document: %w", err)
	}
	defer s.bytes.Release(weight)
	defer func() { // the validator reads what strangers wrote
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("validate document: the validator failed: %v", r)
		}
	}()
	text, err := xmlscan.Decode(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotXML, err)
	}
	if err := s.known(text); err != nil {
		return nil, err
	}
	err = s.engine.ValidateWithOptions(ctx, bytes.NewReader(withoutDeclaration(text)), xsd.ValidateOptions{
		MaxErrors: maxFindings, MaxInstanceDepth: xmlscan.MaxDepth, MaxInstanceAttributes: xmlscan.MaxAttributes,
		MaxInstanceTextBytes: xmlscan.MaxBytes, MaxInstanceTokenBytes: 2 * xmlscan.MaxBytes, MaxInstanceBytes: xmlscan.MaxBytes,
	})
	return findings(err)
}

// withoutDeclaration blanks the XML declaration, whose encoding is no longer that of the text, and keeps the lines.
func withoutDeclaration(text []byte) []byte {
	end := bytes.Index(text, []byte("?>"))
	if end < 0 || !bytes.HasPrefix(text, []byte("<?xml")) || !strings.ContainsRune(" \t\r\n", rune(text[5])) {
		return text
	}
	return blank(text, 0, end+2)
}

// blank puts spaces in place of a part of a text, and keeps its lines.
func blank(text []byte, from, to int) []byte {
	out := bytes.Clone(text)
	for i := from; i < to; i++ {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out
}

// known checks that a document is XML within bounds, and that there is a schema for it and for the documents in it, as deep
// as the payload of a message in an envelope can stand.
func (s *Set) known(text []byte) error {
	const deepest = 14
	r := xmlscan.NewReader(text)
	r.Skim()
	var open []xml.Name
	var missing error
	for {
		token, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return missing
		case err != nil:
			return fmt.Errorf("%w: %w", ErrNotXML, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			needed := len(open) == 0 || len(open) < deepest && encloses(open[len(open)-1])
			if needed && missing == nil && !s.Has(t.Name.Space) {
				missing = &NoSchemaError{t.Name.Space}
			}
			open = append(open, t.Name)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// encloses reports whether an element holds a document that has a schema of its own.
func encloses(name xml.Name) bool {
	return name.Local == "Body" && (name.Space == soap11 || name.Space == soap12) || name.Local == "Content" && name.Space == msgHead
}

// findings reads what the validator found; an error that is none of the document's comes back as it is.
func findings(err error) ([]Finding, error) {
	if err == nil {
		return nil, nil
	}
	all := []error{err}
	if several, ok := errors.AsType[xsderrors.Errors](err); ok {
		all = several
	}
	var found []Finding
	for _, one := range all {
		detail, ok := errors.AsType[*xsderrors.Error](one)
		switch {
		case !ok || detail.Code == xsderrors.CodeValidationLimit || detail.Category != xsderrors.CategoryValidation && detail.Category != xsderrors.CategoryUnsupported:
			return nil, fmt.Errorf("validate document: %w", one)
		case detail.Code == xsderrors.CodeValidationXML:
			return nil, fmt.Errorf("%w: line %d", ErrNotXML, detail.Line)
		}
		found = append(found, Finding{Line: detail.Line, Path: short(detail.Path), Text: short(strings.TrimSpace(detail.Message))})
	}
	return found[:min(len(found), maxFindings)], nil
}

// short cuts what quotes a document, whose names and texts have any length.
func short(text string) string {
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Namespaces of SOAP envelopes.
const (
	soap11 = "http://schemas.xmlsoap.org/soap/envelope/"
	soap12 = "http://www.w3.org/2003/05/soap-envelope"
)

// builtin holds schemas of our own for SOAP envelopes, by namespace: just enough to get at the message in the body, which
// is held to its own schema.
func builtin() map[string][]byte {
	return map[string][]byte{soap11: envelope(soap11), soap12: envelope(soap12)}
}

func envelope(namespace string) []byte {
	const text = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="NS" elementFormDefault="qualified">
<xs:element name="Envelope"><xs:complexType><xs:sequence>
<xs:element name="Header" minOccurs="0"><xs:complexType><xs:sequence>
<xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
<xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
<xs:element name="Body"><xs:complexType><xs:sequence>
<xs:any processContents="lax" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
<xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
</xs:sequence><xs:anyAttribute processContents="skip"/></xs:complexType></xs:element>
</xs:schema>`
	return []byte(strings.Replace(text, "NS", namespace, 1))
}
