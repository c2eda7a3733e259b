package xmlscan

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// Node is an element that was read whole.
type Node struct {
	// Name is the name with its namespace.
	Name xml.Name
	// Attr holds the attributes, the declarations of namespaces among them.
	Attr []xml.Attr
	// Kids are the elements in it, in order.
	Kids []*Node
	// Line counts the lines up to the end of the start tag, from 1.
	Line int

	text strings.Builder
}

// Parse reads a whole document in UTF-8 into a tree. Errors are of type *SyntaxError.
func Parse(doc []byte) (*Node, error) { return NewReader(doc).tree() }

// ParseWithin reads as Parse does, within limits of the caller.
func ParseWithin(doc []byte, limits Limits) (*Node, error) { return newReader(doc, limits).tree() }

func (r *Reader) tree() (*Node, error) {
	for {
		token, err := r.Next()
		if err != nil {
			return nil, err
		}
		if start, ok := token.(xml.StartElement); ok {
			root, err := r.Element(start)
			if err != nil {
				return nil, err
			}
			return root, r.Rest()
		}
	}
}

// Element reads the element whose start tag came last from Next, up to and with its end tag.
func (r *Reader) Element(start xml.StartElement) (*Node, error) {
	root := &Node{Name: start.Name, Attr: start.Attr, Line: r.Line()}
	open := []*Node{root}
	for len(open) > 0 {
		token, err := r.Next()
		if err != nil {
			return nil, err
		}
		last := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			kid := &Node{Name: t.Name, Attr: t.Attr, Line: r.Line()}
			last.Kids = append(last.Kids, kid)
			open = append(open, kid)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			last.text.Write(t)
		}
	}
	return root, nil
}

// Rest reads to the end of the document and gives the error that stands in the way, nil when there is none.
func (r *Reader) Rest() error {
	for {
		if _, err := r.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// Text gives the text directly in the element, without the white space around it. A nil Node has none.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.text.String())
}

// Attribute gives the value of an attribute in the namespace of its element, or in none, without the white space around
// it; empty when it is absent.
func (n *Node) Attribute(local string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Name.Local == local && (a.Name.Space == "" || a.Name.Space == n.Name.Space) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// Find follows a path of local names within the namespace of the element, the first of each, and gives nil when there
// is none. It can be called on a nil Node.
func (n *Node) Find(path ...string) *Node { return n.find(path, (*Node).All) }

// FindLocal follows a path as Find does, in any namespace.
func (n *Node) FindLocal(path ...string) *Node { return n.find(path, (*Node).AllLocal) }

func (n *Node) find(path []string, all func(*Node, string) []*Node) *Node {
	for _, local := range path {
		found := all(n, local)
		if len(found) == 0 {
			return nil
		}
		n = found[0]
	}
	return n
}

// All gives the elements of a local name directly in this one, in its namespace.
func (n *Node) All(local string) []*Node {
	return slices.DeleteFunc(n.AllLocal(local), func(kid *Node) bool { return kid.Name.Space != n.Name.Space })
}

// AllLocal gives the elements of a local name directly in this one, in any namespace.
func (n *Node) AllLocal(local string) []*Node {
	var all []*Node
	if n != nil {
		for _, kid := range n.Kids {
			if kid.Name.Local == local {
				all = append(all, kid)
			}
		}
	}
	return all
}
