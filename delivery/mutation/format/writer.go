package format

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"schakel/delivery/mutation/format/xmlscan"
)

// Writer writes one file of namespace 2.0, the same bytes for the same groups. It is not safe for concurrent use.
type Writer struct {
	out  *bufio.Writer
	root Name
	ml   string // the prefix of the format
	// object is the element around objects that stand in none of the dataset, empty when none is put around them.
	object string
	types  []string
	bound  []Namespace
	line   []byte
	err    error
}

// NewWriter starts a file. The header must have a dataset, a type, a delivery id and an object type. Its namespaces are
// declared on the root, so that states that were read from a file with the same ones keep their bytes; its version and
// deviations do not count.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	out := &Writer{out: bufio.NewWriterSize(w, 64<<10), root: h.Root, ml: "ml", types: h.ObjectTypes}
	if h.Object != "" {
		out.object = Name{h.Root.Prefix, h.Root.Space, h.Object}.written()
	}
	out.bind(h)
	out.head(h)
	return out, out.flushed("write the header of a mutation file")
}

func (h *Header) check() error {
	switch {
	case h.Type != Delta && h.Type != Initial:
		return invalid("the type %q", h.Type)
	case h.Dataset == "" || h.DeliveryID == "" || len(h.ObjectTypes) == 0:
		return invalid("a header without dataset, delivery id or object types")
	case h.Root.Local == "" && h.Root != Name{}:
		return invalid("a root element without a name")
	}
	if h.Root.Local != "" {
		if err := h.Root.check(); err != nil {
			return err
		}
	}
	if h.Object != "" && (h.Root.Local == "" || xmlscan.CheckName("", h.Object) != nil) {
		return invalid("the element %q around objects", h.Object)
	}
	for _, text := range append([]string{h.Dataset, h.Area, h.DeliveryID}, h.ObjectTypes...) {
		if err := xmlscan.CheckText(text); err != nil {
			return invalid("%v", err)
		}
	}
	return nil
}

// check makes sure that the name can stand in XML.
func (n Name) check() error {
	if err := xmlscan.CheckName(n.Prefix, n.Local); err != nil {
		return invalid("%v", err)
	}
	if n.Prefix != "" && n.Space == "" || n.Space == Namespace1 || n.Space == Namespace2 {
		return invalid("a root element %s in the namespace %q", n.Local, n.Space)
	}
	return xmlscan.CheckText(n.Space)
}

// bind settles which namespaces the root declares: its own, the format's, and those of the header that fit beside them.
func (w *Writer) bind(h Header) {
	if w.root.Local != "" && w.root.Prefix == w.ml {
		w.ml = "ml2"
	}
	w.bound = []Namespace{{Prefix: w.ml, URI: Namespace2}}
	if w.root.Space != "" {
		w.bound = append(w.bound, Namespace{Prefix: w.root.Prefix, URI: w.root.Space})
	}
	for _, n := range h.Namespaces {
		nameless := n.Prefix == "" && w.root.Local != "" && w.root.Space == ""
		if _, taken := w.lookup(n.Prefix); !taken && !nameless && xmlscan.Allowed(n) == nil && n.URI != Namespace1 {
			w.bound = append(w.bound, n)
		}
	}
	sortNamespaces(w.bound)
}

func (w *Writer) lookup(prefix string) (string, bool) {
	i := slices.IndexFunc(w.bound, func(n Namespace) bool { return n.Prefix == prefix })
	if i < 0 {
		return "", false
	}
	return w.bound[i].URI, true
}

func (n Name) written() string {
	if n.Prefix == "" {
		return n.Local
	}
	return n.Prefix + ":" + n.Local
}

func (w *Writer) head(h Header) {
	declared := []byte(nil)
	for _, n := range w.bound {
		declared = appendDeclaration(append(declared, "\n   "...), n)
	}
	w.text(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	if w.root.Local != "" {
		w.text("<" + w.root.written() + string(declared) + ">\n")
		declared = nil
	}
	w.text("<" + w.ml + ":mutatieBericht" + string(declared) + ">\n")
	w.leaf("dataset", h.Dataset)
	w.text("<" + w.ml + ":inhoud>\n")
	w.leaf("mutatieType", string(h.Type))
	w.leaf("gebied", h.Area)
	w.leaf("leveringsId", h.DeliveryID)
	w.text("<" + w.ml + ":objectTypen>\n")
	for _, t := range h.ObjectTypes {
		w.leaf("objectType", t)
	}
	w.text("</" + w.ml + ":objectTypen>\n</" + w.ml + ":inhoud>\n")
}

func (w *Writer) leaf(name, text string) {
	w.text("<" + w.ml + ":" + name + ">")
	w.line = xmlscan.AppendEscaped(w.line[:0], text)
	w.bytes(w.line)
	w.text("</" + w.ml + ":" + name + ">\n")
}

func (w *Writer) text(s string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(s)
	}
}

func (w *Writer) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

func (w *Writer) flushed(what string) error {
	if w.err != nil {
		return fmt.Errorf("%s: %w", what, w.err)
	}
	return nil
}

// Close ends the file. It does not close what is underneath.
func (w *Writer) Close() error {
	w.text("</" + w.ml + ":mutatieBericht>\n")
	if w.root.Local != "" {
		w.text("</" + w.root.written() + ">\n")
	}
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return w.flushed("end a mutation file")
}
