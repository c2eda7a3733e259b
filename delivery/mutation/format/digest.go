package format

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"slices"
	"strings"

	"schakel/delivery/mutation/format/xmlscan"
)

// Digest is the same for two states whose objects have the same fields, however they are written: prefixes, the order
// of attributes, comments, and white space between elements do not count. It serves to compare a WAS with the state it
// refers to (MUT-15, MUT-17).
func (s *State) Digest() ([sha256.Size]byte, error) {
	scan := xmlscan.New(bytes.NewReader(s.XML), xmlscan.Limits{Depth: DefaultLimits().Depth})
	if err := scan.Declare(s.Namespaces); err != nil {
		return [sha256.Size]byte{}, err
	}
	d := digest{scan: scan, sum: sha256.New()}
	for {
		tok, err := scan.Next()
		if errors.Is(err, io.EOF) {
			return [sha256.Size]byte(d.sum.Sum(nil)), nil
		}
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		d.take(tok)
	}
}

// digest writes each piece with a mark of its kind before it and a byte behind it that XML cannot hold.
type digest struct {
	scan *xmlscan.Scanner
	sum  hash.Hash
	text []byte
	line []byte
}

func (d *digest) take(tok *xmlscan.Token) {
	switch tok.Kind {
	case xmlscan.Text:
		if d.scan.Depth() > 0 {
			d.text = xmlscan.AppendText(d.text, tok.Text)
		}
	case xmlscan.CData:
		d.text = xmlscan.AppendCData(d.text, tok.Text)
	case xmlscan.Start:
		d.flush()
		d.write('<', d.scan.Namespace(), string(xmlscan.Local(tok.Name)))
		d.attributes(tok.Attrs)
	case xmlscan.End:
		d.flush()
		d.write('>')
	}
}

// flush writes the text that came so far, unless it is white space only.
func (d *digest) flush() {
	if !blank(d.text) {
		d.write('t')
		d.sum.Write(d.text)
		d.write(0)
	}
	d.text = d.text[:0]
}

func (d *digest) write(kind byte, parts ...string) {
	d.line = append(d.line[:0], kind)
	for _, p := range parts {
		d.line = append(append(d.line, p...), 0)
	}
	d.sum.Write(d.line)
}

func (d *digest) attributes(attrs []xmlscan.Attr) {
	if len(attrs) == 0 {
		return
	}
	var list [][3]string
	for _, a := range attrs {
		if _, is := xmlscan.Declares(a.Name); !is {
			list = append(list, [3]string{d.scan.AttrNamespace(a), string(xmlscan.Local(a.Name)), xmlscan.Value(a.Value)})
		}
	}
	slices.SortFunc(list, func(a, b [3]string) int { return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1]) })
	for _, a := range list {
		d.write('@', a[:]...)
	}
}
