// Package xsd validates business documents against the XML schemas that an operator puts in a folder (AMQP-111). The
// schemas of the health exchange carry no licence, so none comes with the program.
//
// All schemas of the folder are compiled into one set, because a MsgHead demands that the documents in it are valid by
// schemas of their own. Nothing outside the folder is read and nothing is fetched: a schema that names another place is
// refused when the set is loaded, with its file and line.
//
// Known hole: the validator cannot be stopped half-way. When the context of Validate ends, the caller gets its answer
// and the work goes on in the background; a fixed number of slots bounds how much of that there can be.
package xsd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/lestrrat-go/helium"
	"github.com/lestrrat-go/helium/xsd"
	"golang.org/x/sync/semaphore"
	"schakel/registry/xmlscan"
)

// Bounds.
const (
	maxFiles    = 500
	maxFile     = 8 << 20
	maxFindings = 100
	slots       = 8
	// together bounds the bytes of documents that are validated at once: the validator needs some 15 times that in memory.
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
	schema     *xsd.Schema
	namespaces map[string]string
	slots      chan struct{}
	bytes      *semaphore.Weighted
}

// Finding is a place where a document is not valid. Text may quote the content of the document: it may go to the sender
// of the message and to the operator, and not into a log.
type Finding struct {
	// Line counts from 1; 0 when the place is not known.
	Line int
	// Path is the name of the element, with /@name for an attribute.
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
		if _, own := builtin()[file]; !own {
			all = append(all, Schema{Namespace: namespace, File: file})
		}
	}
	slices.SortFunc(all, func(a, b Schema) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all
}

const msgHead = "http://www.kith.no/xmlstds/msghead/2006-05-24"

// Validate checks a document, in UTF-8 or UTF-16, against the schema of its root element; of a SOAP envelope the
// message in the body is checked. No findings and no error mean that the document is valid. Errors wrap ErrNoSchema,
// ErrNotXML or the error of the context; any other is an internal fault and says nothing about the document.
func (s *Set) Validate(ctx context.Context, doc []byte) ([]Finding, error) {
	if s == nil {
		return nil, ErrNoSchema
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("validate document: %w", ctx.Err())
	}
	weight := min(int64(len(doc)), together)
	if err := s.bytes.Acquire(ctx, weight); err != nil {
		<-s.slots
		return nil, fmt.Errorf("validate document: %w", err)
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() { s.bytes.Release(weight); <-s.slots }()
		done <- s.guarded(ctx, doc)
	}()
	select {
	case out := <-done:
		return out.findings, out.err
	case <-ctx.Done():
		return nil, fmt.Errorf("validate document: %w", ctx.Err())
	}
}

type outcome struct {
	findings []Finding
	err      error
}

// guarded turns a panic of the validator, which reads what strangers wrote, into an error.
func (s *Set) guarded(ctx context.Context, doc []byte) (out outcome) {
	defer func() {
		if r := recover(); r != nil {
			out = outcome{err: fmt.Errorf("validate document: the validator failed: %v", r)}
		}
	}()
	findings, err := s.validate(ctx, doc)
	return outcome{findings, err}
}

func (s *Set) validate(ctx context.Context, doc []byte) ([]Finding, error) {
	tree, err := parse(ctx, doc)
	if err != nil {
		return nil, err
	}
	if err := s.known(tree.DocumentElement()); err != nil {
		return nil, err
	}
	var said findings
	err = xsd.NewValidator(s.schema).Label("message").ErrorHandler(&said).Validate(ctx, tree)
	switch {
	case errors.Is(err, xsd.ErrValidationFailed) && len(said.all) == 0:
		return []Finding{{Path: tree.DocumentElement().LocalName(), Text: "is not valid"}}, nil
	case err != nil && !errors.Is(err, xsd.ErrValidationFailed):
		return nil, fmt.Errorf("validate document: %w", err)
	}
	return said.all, nil
}

func parse(ctx context.Context, doc []byte) (*helium.Document, error) {
	text, err := xmlscan.Decode(doc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotXML, err)
	}
	tree, err := helium.NewParser().MaxDepth(xmlscan.MaxDepth).MaxNodeContentSize(xmlscan.MaxBytes).Parse(ctx, withoutDeclaration(text))
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("validate document: %w", ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%w: line %d", ErrNotXML, lineOf(err))
	case tree.IntSubset() != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotXML, xmlscan.ErrDocumentType)
	case tree.DocumentElement() == nil:
		return nil, fmt.Errorf("%w: no element", ErrNotXML)
	}
	return tree, nil
}

// withoutDeclaration blanks the XML declaration, whose encoding is no longer that of the text, and keeps the lines.
func withoutDeclaration(text []byte) []byte {
	end := bytes.Index(text, []byte("?>"))
	if end < 0 || !bytes.HasPrefix(text, []byte("<?xml")) || !strings.ContainsRune(" \t\r\n", rune(text[5])) {
		return text
	}
	out := bytes.Clone(text)
	for i := range end + 2 {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out
}

// known checks that there is a schema for a document, and for the documents in it.
func (s *Set) known(root *helium.Element) error {
	if !s.Has(root.URI()) {
		return &NoSchemaError{root.URI()}
	}
	var err error
	each(root, 0, func(parent, kid *helium.Element) {
		inBody := parent.LocalName() == "Body" && (parent.URI() == soap11 || parent.URI() == soap12)
		inContent := parent.LocalName() == "Content" && parent.URI() == msgHead
		if (inBody || inContent) && !s.Has(kid.URI()) && err == nil {
			err = &NoSchemaError{kid.URI()}
		}
	})
	return err
}

// each visits elements with their parents, as deep as the payload of a message in an envelope can stand.
func each(parent *helium.Element, depth int, visit func(parent, kid *helium.Element)) {
	const deepest = 12
	for node := range helium.Children(parent) {
		if kid, ok := node.(*helium.Element); ok {
			visit(parent, kid)
			if depth < deepest {
				each(kid, depth+1, visit)
			}
		}
	}
}

// findings collects what the validator says.
type findings struct{ all []Finding }

// Handle keeps a finding, up to a bound.
func (f *findings) Handle(_ context.Context, err error) {
	if len(f.all) == maxFindings {
		return
	}
	one := Finding{Text: firstLine(err)}
	if detail, ok := errors.AsType[*xsd.ValidationError](err); ok {
		one = Finding{Line: detail.Line, Path: detail.Element, Text: strings.TrimSpace(detail.Message)}
		if detail.AttributeName != "" {
			one.Path += "/@" + detail.AttributeName
		}
	}
	f.all = append(f.all, one)
}

// lineOf finds the line in an error of the parser, 0 when it has none.
func lineOf(err error) int {
	if detail, ok := errors.AsType[helium.ErrParseError](err); ok {
		return detail.LineNumber
	}
	return 0
}

// Namespaces of SOAP envelopes.
const (
	soap11 = "http://schemas.xmlsoap.org/soap/envelope/"
	soap12 = "http://www.w3.org/2003/05/soap-envelope"
)

// builtin holds schemas of our own for SOAP envelopes, by file name: just enough to get at the message in the body,
// which is held to its own schema.
func builtin() fstest.MapFS {
	return fstest.MapFS{
		"soap-envelope-1.1.builtin.xsd": {Data: envelope(soap11)},
		"soap-envelope-1.2.builtin.xsd": {Data: envelope(soap12)},
	}
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
