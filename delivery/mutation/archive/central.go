package archive

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// directory describes the central directory, as the end of a zip does.
type directory struct {
	start, size int64
	count       int
	at64        int64 // where the end record of 64 bits starts; -1: there is none
	count64     uint64
	size64      uint64
	start64     uint64
}

// readEnd reads the central directory and the end of the zip, and answers io.EOF when all of it fits the files that were
// read.
func (r *Reader) readEnd() error {
	dir := directory{start: r.in.at(), at64: -1}
	for {
		mark, err := r.in.Peek(4)
		if err != nil {
			return cutOff(err)
		}
		switch binary.LittleEndian.Uint32(mark) {
		case markCentral:
			if dir.at64 >= 0 || dir.count >= len(r.records) {
				return fault(ErrZip, "its directory has more than its files")
			}
			if err := r.readCentral(dir.count); err != nil {
				return err
			}
			dir.count++
			dir.size = r.in.at() - dir.start
		case markEnd64:
			if err := r.readEnd64(&dir); err != nil {
				return err
			}
		case markEnd:
			return r.readLast(dir)
		default:
			if r.in.at() == 0 {
				return fault(ErrZip, "this is no zip, it begins with %.20q", mark)
			}
			return fault(ErrZip, "there is something unknown at byte %d", r.in.at())
		}
	}
}

// readCentral compares one record of the directory with the file that starts where it says.
func (r *Reader) readCentral(i int) error {
	b, err := r.in.take(46)
	if err != nil {
		return err
	}
	rec := record{flags: u16(b, 8), method: u16(b, 10), crc: u32(b, 16)}
	fields := []field{
		{u32(b, 24) == most32, &rec.unpacked, u32(b, 24)},
		{u32(b, 20) == most32, &rec.packed, u32(b, 20)},
		{u32(b, 42) == most32, &rec.start, u32(b, 42)},
	}
	name, extra, comment := int(u16(b, 28)), int(u16(b, 30)), int(u16(b, 32))
	if b, err = r.in.take(name + extra + comment); err != nil {
		return err
	}
	rec.name = string(b[:name])
	if err := rec.extra(b[name:name+extra], fields); err != nil {
		return err
	}
	at, found := slices.BinarySearchFunc(r.records, rec.start, func(a record, start int64) int { return cmp.Compare(a.start, start) })
	if !found {
		return fault(ErrZip, "its directory names %.60q where no file starts", rec.name)
	}
	own := r.records[at]
	if own.name != rec.name || own.crc != rec.crc || own.packed != rec.packed || own.unpacked != rec.unpacked || own.method != rec.method {
		return fault(ErrZip, "its directory says otherwise of %.60q than the file", own.name)
	}
	if at != i {
		return fault(ErrOrder, "%.60q is file %d, and %d in the directory", rec.name, at+1, i+1)
	}
	return nil
}

// readEnd64 reads the end record of 64 bits and the record that leads to it.
func (r *Reader) readEnd64(dir *directory) error {
	if dir.at64 >= 0 {
		return fault(ErrZip, "it ends twice")
	}
	dir.at64 = r.in.at()
	b, err := r.in.take(56)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(b[4:]) != 44 {
		return fault(ErrUnsupported, "an end record with more in it")
	}
	dir.count64, dir.size64 = binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])
	dir.start64 = binary.LittleEndian.Uint64(b[48:])
	if b, err = r.in.take(20); err != nil {
		return err
	}
	if u32(b, 0) != markLocator64 || binary.LittleEndian.Uint64(b[8:]) != uint64(dir.at64) {
		return fault(ErrZip, "its end record is not where it should be")
	}
	return nil
}

// readLast reads the last record and makes sure that nothing follows.
func (r *Reader) readLast(dir directory) error {
	b, err := r.in.take(22)
	if err != nil {
		return err
	}
	count, size, start := uint64(u16(b, 10)), uint64(u32(b, 12)), uint64(u32(b, 16))
	disks := u16(b, 4) != 0 || u16(b, 6) != 0
	comment := int(u16(b, 20))
	if dir.at64 >= 0 {
		use := func(to *uint64, none, long uint64) {
			if *to == none {
				*to = long
			}
		}
		use(&count, 0xffff, dir.count64)
		use(&size, most32, dir.size64)
		use(&start, most32, dir.start64)
	}
	if _, err := r.in.take(comment); err != nil {
		return err
	}
	switch {
	case disks:
		return fault(ErrUnsupported, "it is one of several parts")
	case dir.count != len(r.records) || count != uint64(dir.count):
		return fault(ErrZip, "it has %d files, its directory %d, and its end says %d", len(r.records), dir.count, count)
	case size != uint64(dir.size) || start != uint64(dir.start):
		return fault(ErrZip, "its directory is not where its end says")
	}
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		return fault(ErrZip, "there is something behind its end")
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return err
	}
}
