package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"schakel/delivery/mutation/format"
)

// DeliveryReader reads the groups of a delivery from its zip as a stream. It is not safe for concurrent use.
type DeliveryReader struct {
	zip    *Reader
	in     *tally
	bounds format.Limits
	file   *format.Reader
	header format.Header
	at     Position
	seen   Manifest
	err    error
}

// Position locates a group in a delivery.
type Position struct {
	File  string `json:"file"`
	Index int    `json:"index"` // of the file, from 1
	Group int    `json:"group"` // in the file, from 1
}

// NewDeliveryReader reads from r, which is not closed.
func NewDeliveryReader(r io.Reader, limits Limits, bounds format.Limits) *DeliveryReader {
	in := &tally{to: io.Discard, sum: sha256.New()}
	return &DeliveryReader{zip: NewReader(io.TeeReader(r, in), limits), in: in, bounds: bounds}
}

// Header gives the header of the first file; it reads as far as that. io.EOF says that the zip has no file.
func (d *DeliveryReader) Header() (format.Header, error) {
	if d.file == nil && d.err == nil {
		d.err = d.nextFile()
	}
	if d.header.Version == "" {
		return d.header, d.err
	}
	return d.header, nil
}

// Next gives the next group and where it stands. Only after io.EOF the zip is known to be whole: the checksum of a file
// comes behind its groups, so those before an error may have been given already, and each of them was whole.
func (d *DeliveryReader) Next() (*format.Group, Position, error) {
	if _, _ = d.Header(); d.err != nil {
		return nil, d.at, d.err
	}
	for {
		g, err := d.file.Next()
		if err == nil {
			d.at.Group = g.Index
			d.seen.Counts.Add(g)
			return g, d.at, nil
		}
		if errors.Is(err, io.EOF) {
			err = d.nextFile()
		}
		if err != nil {
			d.err = err
			return nil, d.at, err
		}
	}
}

// nextXML goes to the next file that is one of the delivery. Some put a text or a list of checksums beside them; where that
// is allowed it is reported and passed over, unless it could be XML under another name.
func (d *DeliveryReader) nextXML() (*File, io.Reader, error) {
	for {
		f, err := d.zip.Next()
		if err != nil || strings.HasSuffix(strings.ToLower(f.Name), ".xml") {
			return f, f, err
		}
		if !d.zip.limits.Others {
			return nil, nil, &Error{Entry: f.Name, Index: f.Index, Err: fault(ErrName, "a delivery holds XML files only")}
		}
		in := bufio.NewReader(f)
		start, err := in.Peek(512)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if text := bytes.TrimLeft(start, "\xef\xbb\xbf\xff\xfe\x00 \t\r\n"); len(text) > 0 && text[0] == '<' {
			return f, in, nil
		}
		d.zip.note(fmt.Sprintf("%.60q is no XML and is passed over", f.Name))
	}
}

// nextFile goes to the next file and compares its header with the first one (MUT-21).
func (d *DeliveryReader) nextFile() error {
	f, in, err := d.nextXML()
	if err != nil {
		return err
	}
	d.at = Position{File: f.Name, Index: f.Index}
	d.file = format.NewReader(f.Name, in, d.bounds)
	h, err := d.file.Header()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	d.seen.Files++
	if d.header.Version == "" {
		d.header = h
		return nil
	}
	first := &d.header
	if h.Dataset != first.Dataset || h.DeliveryID != first.DeliveryID || h.Type != first.Type || h.Version != first.Version {
		return &Error{Entry: f.Name, Index: f.Index, Err: fault(ErrMixed, "this one is %s, the first one %s", whose(h), whose(*first))}
	}
	return nil
}

// whose says of which delivery a file is.
func whose(h format.Header) string {
	return fmt.Sprintf("of %s %.60q of dataset %.60q", cmp.Or(h.Type, "delivery"), h.DeliveryID, h.Dataset)
}

// Seen gives the manifest of the part read so far; after io.EOF its bytes and SHA-256 cover the zip.
func (d *DeliveryReader) Seen() Manifest {
	m, h := d.seen, d.header
	m.Dataset, m.DeliveryID, m.Type, m.Area, m.ObjectTypes = h.Dataset, h.DeliveryID, h.Type, h.Area, h.ObjectTypes
	m.Bytes, m.SHA256 = d.in.size, hex.EncodeToString(d.in.sum.Sum(nil))
	return m
}

// Notes lists the deviations that were let pass.
func (d *DeliveryReader) Notes() []string { return d.zip.Notes() }
