package archive

import (
	"encoding/hex"
	"errors"
	"io"
	"math"

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
