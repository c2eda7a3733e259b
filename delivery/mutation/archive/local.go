package archive

import (
	"encoding/binary"
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
