package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// The marks that records of a zip start with.
const (
	markLocal      = 0x04034b50
	markDescriptor = 0x08074b50
	markCentral    = 0x02014b50
	markEnd64      = 0x06064b50
	markLocator64  = 0x07064b50
	markEnd        = 0x06054b50
)

const (
	stored   = 0
	deflated = 8
	// flagDescriptor says that checksum and sizes follow the data.
	flagDescriptor = 0x8
	// flagRefused are encryption (0, 6, 13) and patches (5).
	flagRefused = 0x1 | 0x20 | 0x40 | 0x2000
	most32      = 0xffffffff
	tag64       = 1 // of the extra field with sizes of 64 bits
)

// record holds the headers of an entry.
type record struct {
	name     string
	flags    uint16
	method   uint16
	crc      uint32
	packed   int64
	unpacked int64
	start    int64 // where its local header starts in the zip
	long     bool  // it has the extra field with sizes of 64 bits
}

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// readLocal reads a local header, the mark of which is still to come.
func (in *input) readLocal() (record, error) {
	rec := record{start: in.at()}
	b, err := in.take(30)
	if err != nil {
		return rec, err
	}
	rec.flags, rec.method, rec.crc = u16(b, 6), u16(b, 8), u32(b, 14)
	packed, unpacked := u32(b, 18), u32(b, 22)
	names, extras := int(u16(b, 26)), int(u16(b, 28))
	if b, err = in.take(names + extras); err != nil {
		return rec, err
	}
	rec.name = string(b[:names])
	sizes := []field{{packed == most32, &rec.packed, packed}, {unpacked == most32, &rec.unpacked, unpacked}}
	// In a local header the extra field has both sizes, the unpacked one first.
	sizes[0], sizes[1] = sizes[1], sizes[0]
	if err := rec.extra(b[names:], sizes); err != nil {
		return rec, err
	}
	return rec, rec.supported()
}

func (r *record) supported() error {
	switch {
	case r.flags&flagRefused != 0:
		return fault(ErrUnsupported, "it is encrypted or a patch")
	case r.method != stored && r.method != deflated:
		return fault(ErrUnsupported, "compression method %d", r.method)
	case r.method == stored && r.packed != r.unpacked:
		return fault(ErrZip, "it is stored in %d bytes and has %d", r.packed, r.unpacked)
	case r.packed < 0 || r.unpacked < 0:
		return fault(ErrZip, "a size below zero")
	}
	return nil
}

// field is a size that stands in a header, or in its extra field when it does not fit there.
type field struct {
	extra bool
	to    *int64
	short uint32
}

// extra reads the sizes that stand in the extra field of 64 bits.
func (r *record) extra(b []byte, fields []field) error {
	for _, f := range fields {
		*f.to = int64(f.short)
	}
	for len(b) >= 4 {
		tag, n := u16(b, 0), int(u16(b, 2))
		b = b[4:]
		if n > len(b) {
			return fault(ErrZip, "an extra field that is too long")
		}
		if tag == tag64 {
			if r.long {
				return fault(ErrZip, "two extra fields for one thing")
			}
			r.long = true
			if err := fill(b[:n], fields); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	for _, f := range fields {
		if f.extra && !r.long {
			return fault(ErrZip, "a size is missing")
		}
	}
	return nil
}

func fill(b []byte, fields []field) error {
	for _, f := range fields {
		if !f.extra {
			continue
		}
		if len(b) < 8 {
			return fault(ErrZip, "an extra field that is too short")
		}
		*f.to = int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	return nil
}

// finish compares what was read of an entry with what its headers say.
func (f *File) finish() error {
	got := record{crc: f.crc, packed: f.read(), unpacked: f.size}
	if f.rec.flags&flagDescriptor != 0 {
		err := f.zip.in.readDescriptor(got)
		if err != nil {
			return err
		}
	} else if f.rec.crc != got.crc || f.rec.packed != got.packed || f.rec.unpacked != got.unpacked {
		return fault(ErrZip, "its data are not as its header says")
	}
	f.rec.crc, f.rec.packed, f.rec.unpacked = got.crc, got.packed, got.unpacked
	f.zip.packed += got.packed
	f.zip.unpacked += got.unpacked
	return nil
}

// readDescriptor reads the record behind the data. It may have a mark or not, and sizes of 32 or 64 bits; only one of
// these can fit what was read.
func (in *input) readDescriptor(got record) error {
	b, err := in.Peek(24) // there is more than that behind it in every zip
	if err != nil {
		return cutOff(err)
	}
	for _, long := range []bool{true, false} {
		for _, marked := range []bool{true, false} {
			if want := descriptor(got, marked, long); string(b[:len(want)]) == string(want) {
				_, err := in.take(len(want))
				return err
			}
		}
	}
	return fault(ErrZip, "its data are not as the record behind them says")
}

func descriptor(got record, marked, long bool) []byte {
	var b []byte
	if marked {
		b = binary.LittleEndian.AppendUint32(b, markDescriptor)
	}
	b = binary.LittleEndian.AppendUint32(b, got.crc)
	if long {
		b = binary.LittleEndian.AppendUint64(b, uint64(got.packed))
		return binary.LittleEndian.AppendUint64(b, uint64(got.unpacked))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(got.packed))
	return binary.LittleEndian.AppendUint32(b, uint32(got.unpacked))
}

// input is the stream with a buffer that is larger than any header, so that those can be looked at whole. Deflate takes
// bytes from it one by one, and so none too many.
type input struct {
	*bufio.Reader
	raw *counted
}

// counted counts what came from below.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func newInput(r io.Reader) *input {
	raw := &counted{Reader: r}
	return &input{Reader: bufio.NewReaderSize(raw, 256<<10), raw: raw}
}

// at is the position in the stream.
func (in *input) at() int64 { return in.raw.n - int64(in.Buffered()) }

// take gives the next n bytes; they hold until the next read.
func (in *input) take(n int) ([]byte, error) {
	b, err := in.Peek(n)
	if err != nil {
		return nil, cutOff(err)
	}
	if _, err := in.Discard(n); err != nil {
		return nil, cutOff(err)
	}
	return b, nil
}

// cutOff makes the end of the stream the error it is inside a zip.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}

// unsized is the data of a file that is stored as it is while its size stands behind it only: they end where a record
// follows that tells of just what was read.
type unsized struct {
	in  *input
	got record
}

func (s *unsized) Read(p []byte) (int, error) {
	window, err := s.window(len(p))
	if err != nil {
		return 0, err
	}
	mark := binary.LittleEndian.AppendUint32(nil, markDescriptor)
	n := bytes.Index(window, mark)
	switch {
	case n == 0 && s.ended(window), s.got.packed == 0 && s.ended(window):
		return 0, io.EOF
	case n == 0:
		n = len(mark)
	case n < 0:
		n = len(window) - len(mark) + 1 // the rest may be the start of a mark
	}
	n = copy(p, window[:n])
	s.got.crc = crc32.Update(s.got.crc, crc32.IEEETable, p[:n])
	s.got.packed += int64(n)
	s.got.unpacked = s.got.packed
	_, err = s.in.Discard(n)
	return n, err
}

// window holds the bytes ahead, some more than is wanted: at least as much as the longest record, and more than that is behind
// the data of any file.
func (s *unsized) window(want int) ([]byte, error) {
	const least = 24
	if _, err := s.in.Peek(least); err != nil {
		return nil, cutOff(err)
	}
	return s.in.Peek(min(s.in.Buffered(), want+least))
}

func (s *unsized) ended(window []byte) bool {
	for _, long := range []bool{true, false} {
		for _, marked := range []bool{true, false} {
			if bytes.HasPrefix(window, descriptor(s.got, marked, long)) && (marked || s.got.packed == 0) {
				return true
			}
		}
	}
	return false
}
