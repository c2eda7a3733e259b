package replicate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
)

// SQLite's log (path-wal) is a header of 32 bytes and frames: a header of 24 bytes and a page each. A file beside it (path-shm) is its
// index, of which the first 48 bytes, written twice, count the committed frames. See https://www.sqlite.org/walformat.html. The
// index is in the byte order of the machine, the rest is big-endian, but for the words that checksums are of.
const (
	logHeader   = 32
	frameHeader = 24
	indexHeader = 48
)

// maxSegment bounds the pages of a segment, in bytes, unless one transaction has more.
const maxSegment = 16 << 20

// errGap is returned when a run cannot go on: SQLite's log began anew before all of it was collected, or a part of the run is gone.
var errGap = errors.New("the copy has a gap")

// errChecksum is returned for frames that are not what SQLite committed.
var errChecksum = errors.New("a frame of SQLite's log does not have its checksum")

// index describes the committed part of the log.
type index struct {
	frames   uint32
	pageSize int64
	order    binary.ByteOrder // of the words that checksums are of
	sum      sum              // of the last frame
	salt     [8]byte
}

// sum is a checksum of the log.
type sum [2]uint32

// follows reports whether the log of i came right after that of salt.
func (i index) follows(salt [8]byte) bool {
	return binary.BigEndian.Uint32(i.salt[:4]) == binary.BigEndian.Uint32(salt[:4])+1
}

// position is a place in the log behind a transaction. The zero sum at frame 0 stands for that of the log's header.
type position struct {
	salt  [8]byte
	frame uint32
	sum   sum
}

// files holds the files of an open database.
type files struct {
	path               string
	database, log, shm *os.File
}

func (f *files) open() (err error) {
	for _, one := range []struct {
		suffix string
		file   **os.File
	}{{"", &f.database}, {"-wal", &f.log}, {"-shm", &f.shm}} {
		if *one.file != nil { // closing it would let go of the locks of SQLite
			continue
		}
		if *one.file, err = os.Open(f.path + one.suffix); err != nil {
			return err
		}
	}
	return nil
}

func (f *files) close() (err error) {
	for _, one := range []*os.File{f.database, f.log, f.shm} {
		if one != nil {
			err = errors.Join(err, one.Close())
		}
	}
	return err
}

// indexTries bounds how often the index is read when it is being written meanwhile, a millisecond apart: its writer may be off the processor.
const indexTries = 1000

// index reads the index of the log.
func (f *files) index() (index, error) {
	both := make([]byte, 2*indexHeader)
	for range indexTries {
		if _, err := f.shm.ReadAt(both, 0); err != nil {
			return index{}, fmt.Errorf("read the index of the log: %w", err)
		}
		head := both[:indexHeader]
		native := binary.NativeEndian
		written := sum{native.Uint32(head[40:]), native.Uint32(head[44:])}
		if string(head) != string(both[indexHeader:]) || (sum{}).of(native, head[:40]) != written {
			time.Sleep(time.Millisecond)
			continue
		}
		i := index{frames: native.Uint32(head[16:]), order: binary.LittleEndian, sum: sum{native.Uint32(head[24:]), native.Uint32(head[28:])}}
		if head[13] != 0 {
			i.order = binary.BigEndian
		}
		if i.pageSize = int64(native.Uint16(head[14:])); i.pageSize == 1 {
			i.pageSize = 1 << 16
		}
		copy(i.salt[:], head[32:40])
		return i, nil
	}
	return index{}, errors.New("read the index of the log: it is being written all the time")
}

// of returns the checksum that follows s when b is added, of which the length is a multiple of 8.
func (s sum) of(order binary.ByteOrder, b []byte) sum {
	if order == binary.LittleEndian { // a direct call is several times as fast
		for ; len(b) >= 8; b = b[8:] {
			s[0] += binary.LittleEndian.Uint32(b) + s[1]
			s[1] += binary.LittleEndian.Uint32(b[4:]) + s[0]
		}
		return s
	}
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

// read makes a segment of frames behind a position, up to a commit, and returns the position behind them.
func (f *files) read(from position, to index) (*segment, position, error) {
	if from.frame == 0 {
		head := make([]byte, logHeader)
		if _, err := f.log.ReadAt(head, 0); err != nil {
			return nil, from, fmt.Errorf("read the log: %w", err)
		}
		from.sum = sum{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])}
		if string(head[16:24]) != string(to.salt[:]) {
			return nil, from, errChecksum
		}
	}
	s := &segment{PageSize: to.pageSize, pages: map[uint32][]byte{}}
	open := map[uint32][]byte{} // of a transaction of which the commit was not read yet
	committed, size := from, int64(0)
	for at := from; at.frame < to.frames; {
		frame := make([]byte, frameHeader+to.pageSize)
		if _, err := f.log.ReadAt(frame, logHeader+int64(at.frame)*int64(len(frame))); err != nil {
			return nil, from, fmt.Errorf("read the log: %w", err)
		}
		at.frame++
		at.sum = at.sum.of(to.order, frame[:8]).of(to.order, frame[frameHeader:])
		if string(frame[8:16]) != string(to.salt[:]) || at.sum != (sum{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])}) {
			return nil, from, fmt.Errorf("%w: frame %d", errChecksum, at.frame)
		}
		open[binary.BigEndian.Uint32(frame)] = frame[frameHeader:]
		size += to.pageSize
		pages := binary.BigEndian.Uint32(frame[4:])
		if pages == 0 {
			continue
		}
		for number, page := range open {
			s.pages[number] = page
		}
		clear(open)
		s.Pages, committed = pages, at
		if size >= maxSegment {
			break
		}
	}
	if committed.frame == to.frames && committed.sum != to.sum || committed == from {
		return nil, from, fmt.Errorf("%w: frame %d is not the one committed", errChecksum, committed.frame)
	}
	return s, committed, nil
}
