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
	"math"
	"strings"

	"schakel/delivery/mutation/format"
)

const (
	// perFile counts the mutations of one XML file when nothing else is asked (MUT-20).
	perFile = 5000
	// fileBytes ends a file after so many bytes, however few mutations it has: readers take no more than a few times that.
	fileBytes = 1 << 30
	// Behind manyFiles files the next ones get more mutations than asked, and behind every growFiles of those they
	// get twice as many again. So no delivery has more files than readers take, nor than six digits can number (MUT-27).
	manyFiles = 100_000
	growFiles = 5_000
)

// DeliveryOptions sets the writing of a delivery.
type DeliveryOptions struct {
	Options
	// PerFile is the number of mutations after which a file ends; a group is never cut. Default 5000. A file also ends after a
	// GiB, and when there are very many files they get larger.
	PerFile int
}

// DeliveryWriter writes a delivery: groups into XML files, and those into one zip. It is not safe for concurrent use.
type DeliveryWriter struct {
	zip    *Writer
	header format.Header
	most   int
	many   int   // files as asked
	grow   int   // files of each size behind those
	large  int64 // bytes after which a file ends
	file   *format.Writer
	inFile int
	bytes  *counting // of the file
	seen   Manifest
}

// NewDeliveryWriter writes to w, which is not closed. Every file gets the same header (MUT-21).
func NewDeliveryWriter(w io.Writer, h format.Header, o DeliveryOptions) (*DeliveryWriter, error) {
	if o.PerFile <= 0 {
		o.PerFile = perFile
	}
	if _, err := format.NewWriter(io.Discard, h); err != nil {
		return nil, err
	}
	d := &DeliveryWriter{zip: NewWriter(w, o.Options), header: h, most: o.PerFile, many: manyFiles, grow: growFiles, large: fileBytes}
	d.seen = Manifest{Dataset: h.Dataset, DeliveryID: h.DeliveryID, Type: h.Type, Area: h.Area, ObjectTypes: h.ObjectTypes}
	return d, nil
}

// WriteGroup writes the next group.
func (d *DeliveryWriter) WriteGroup(g *format.Group) error {
	if d.file != nil && d.inFile > 0 && (d.inFile+len(g.Mutations) > d.most || d.bytes.n >= d.large) {
		if err := d.endFile(); err != nil {
			return err
		}
	}
	if err := d.begin(); err != nil {
		return err
	}
	if err := d.file.WriteGroup(g); err != nil {
		return err
	}
	d.inFile += len(g.Mutations)
	d.seen.Counts.Add(g)
	return nil
}

func (d *DeliveryWriter) begin() error {
	if d.file != nil {
		return nil
	}
	d.seen.Files++
	out, err := d.zip.Create(Name(d.seen.Files, d.header.Dataset))
	if err != nil {
		return err
	}
	if over := d.seen.Files - d.many; over >= 0 && over%d.grow == 0 {
		d.most = min(2*d.most, math.MaxInt32)
	}
	d.inFile, d.bytes = 0, &counting{to: out}
	d.file, err = format.NewWriter(d.bytes, d.header)
	return err
}

func (d *DeliveryWriter) endFile() error {
	file := d.file
	d.file = nil
	return file.Close()
}

// Close ends the delivery and gives its manifest, in which what the files do not say is left to fill in: the lineage, the
// delivery before it or the delta that it includes, the times, and by what objects lie in its area. A delivery without groups
// gets one file without any (MUT-22).
func (d *DeliveryWriter) Close() (Manifest, error) {
	if d.seen.Files == 0 {
		if err := d.begin(); err != nil {
			return d.seen, err
		}
	}
	var file error
	if d.file != nil {
		file = d.endFile()
	}
	if err := errors.Join(file, d.zip.Close()); err != nil {
		return d.seen, err
	}
	size, sum := d.zip.Written()
	d.seen.Bytes, d.seen.SHA256 = size, hex.EncodeToString(sum[:])
	return d.seen, nil
}

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
