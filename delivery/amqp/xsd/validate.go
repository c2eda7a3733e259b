package xsd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lestrrat-go/helium"
	"github.com/lestrrat-go/helium/xsd"

	"schakel/registry/xmlscan"
)

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

// outcome is the end of a validation.
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

// parse reads a document under the bounds of the exchange.
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
