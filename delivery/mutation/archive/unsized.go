package archive

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

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
