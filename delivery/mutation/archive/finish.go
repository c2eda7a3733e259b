package archive

import (
	"encoding/binary"
)

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
