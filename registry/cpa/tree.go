package cpa

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of a document. An agreement about all processes of the exchange is some 300 KB.
const (
	maxBytes    = 4 << 20
	maxDepth    = 64
	maxElements = 100_000
	maxFindings = 100
)

// node is an element of a document.
type node struct {
	name xml.Name
	attr []xml.Attr
	kids []*node
	line int
	text strings.Builder
}

// parseTree reads a document in UTF-8. The standard decoder expands no entity that a document defines; a document type
// is refused all the same.
func parseTree(doc []byte) (*node, error) {
	if !utf8.Valid(doc) {
		return nil, fmt.Errorf("%w: it is not in UTF-8", ErrNotXML)
	}
	dec := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF"))))
	top := &node{}
	open, elements := []*node{top}, 0
	for {
		token, err := dec.Token()
		line, _ := dec.InputPos()
		if errors.Is(err, io.EOF) && len(top.kids) == 1 {
			return top.kids[0], nil
		}
		if err == nil {
			open, err = grow(open, token, line, &elements)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrNotXML, line, plain(err))
		}
	}
}

// plain drops the line from an error of the decoder, which is told already.
func plain(err error) error {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return errors.New(syntax.Msg)
	}
	return err
}

// grow adds a token to the tree.
func grow(open []*node, token xml.Token, line int, elements *int) ([]*node, error) {
	last := open[len(open)-1]
	switch t := token.(type) {
	case xml.StartElement:
		if *elements++; *elements > maxElements || len(open) > maxDepth {
			return open, errors.New("it passes the bounds")
		}
		if len(open) == 1 && len(last.kids) > 0 {
			return open, errors.New("more than one root element")
		}
		kid := &node{name: t.Name, attr: t.Attr, line: line}
		last.kids = append(last.kids, kid)
		return append(open, kid), nil
	case xml.EndElement:
		return open[:len(open)-1], nil
	case xml.CharData:
		last.text.Write(t)
	case xml.Directive:
		return open, errors.New("document type declarations are not allowed")
	}
	return open, nil
}

// value gives the text of an element, empty for a nil one.
func (n *node) value() string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.text.String())
}

// get gives an attribute in the namespace of its element, or in none.
func (n *node) get(local string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.attr {
		if a.Name.Local == local && (a.Name.Space == n.name.Space || a.Name.Space == "") {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// all gives the elements of a local name directly in this one, whatever their namespace: communication details change
// it from one level to the next.
func (n *node) all(local string) []*node {
	var out []*node
	if n != nil {
		for _, kid := range n.kids {
			if kid.name.Local == local {
				out = append(out, kid)
			}
		}
	}
	return out
}

// find follows a path of local names, the first of each, and gives nil when there is none.
func (n *node) find(path ...string) *node {
	for _, local := range path {
		all := n.all(local)
		if len(all) == 0 {
			return nil
		}
		n = all[0]
	}
	return n
}

// at gives the line of an element, 0 for a nil one.
func (n *node) at() int {
	if n == nil {
		return 0
	}
	return n.line
}
