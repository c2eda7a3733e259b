package lint

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/uuid"
)

// recordSize counts the bytes of a record in a file.
const recordSize = 32 + 3*8 + 3*4

type record struct {
	key    [32]byte // the id; see keyOf
	seq    uint64   // of the mutation, times two; odd for a WORDT
	fields uint64   // of the state's digest
	object uint64   // of the object's type and id; 0 is not known
	file   uint32
	line   uint32
	group  uint32
}

func (r *record) wordt() bool { return r.seq&1 == 1 }

func compare(a, b *record) int {
	if c := bytes.Compare(a.key[:], b.key[:]); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

func (r *record) append(to []byte) []byte {
	to = append(to, r.key[:]...)
	for _, n := range []uint64{r.seq, r.fields, r.object} {
		to = binary.BigEndian.AppendUint64(to, n)
	}
	for _, n := range []uint32{r.file, r.line, r.group} {
		to = binary.BigEndian.AppendUint32(to, n)
	}
	return to
}

func (r *record) read(from []byte) {
	copy(r.key[:], from)
	r.seq, r.fields, r.object = binary.BigEndian.Uint64(from[32:]), binary.BigEndian.Uint64(from[40:]), binary.BigEndian.Uint64(from[48:])
	r.file, r.line, r.group = binary.BigEndian.Uint32(from[56:]), binary.BigEndian.Uint32(from[60:]), binary.BigEndian.Uint32(from[64:])
}

// The forms of a key, in its first byte.
const (
	keyUUID = 1 + iota // the 16 bytes follow
	keyText            // the length and the id follow
	keySum             // a part of the id's SHA-256 follows
)

// keyOf gives an id a fixed size, so that most can be shown again.
func keyOf(id string) (key [32]byte) {
	if u, err := uuid.Parse(id); err == nil && len(id) == 36 && u.String() == id {
		key[0] = keyUUID
		copy(key[1:], u[:])
		return key
	}
	if len(id) <= len(key)-2 {
		key[0], key[1] = keyText, byte(len(id))
		copy(key[2:], id)
		return key
	}
	sum := sha256.Sum256([]byte(id))
	key[0] = keySum
	copy(key[1:], sum[:])
	return key
}

func idOf(key [32]byte) string {
	switch key[0] {
	case keyUUID:
		return uuid.UUID(key[1:17]).String()
	case keyText:
		return string(key[2 : 2+int(key[1])])
	}
	return fmt.Sprintf("with SHA-256 %s…", hex.EncodeToString(key[1:9]))
}

// mark is a part of a sum, never 0.
func mark(sum [sha256.Size]byte) uint64 { return binary.BigEndian.Uint64(sum[:]) | 1 }

// records holds the uses of ids, in memory as long as they fit and in sorted temporary files beyond that.
type records struct {
	most  int
	dir   string
	list  []record
	files []*os.File
}

func (l *records) add(r record) error {
	l.list = append(l.list, r)
	if len(l.list) < l.most {
		return nil
	}
	return l.spill()
}

func (l *records) sort() {
	slices.SortFunc(l.list, func(a, b record) int { return compare(&a, &b) })
}

// spill writes what is in memory to a file of its own, which has no name any more where the system allows that.
func (l *records) spill() error {
	l.sort()
	f, err := os.CreateTemp(l.dir, "mutation-lint-*")
	if err != nil {
		return fmt.Errorf("keep uses of ids in a temporary file: %w", err)
	}
	l.files = append(l.files, f)
	_ = os.Remove(f.Name()) // where it cannot be removed while open, close removes it
	out := bufio.NewWriterSize(f, 256<<10)
	var line []byte
	for i := range l.list {
		line = l.list[i].append(line[:0])
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("keep uses of ids in a temporary file: %w", err)
		}
	}
	l.list = l.list[:0]
	if err := out.Flush(); err != nil {
		return fmt.Errorf("keep uses of ids in a temporary file: %w", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

func (l *records) close() {
	for _, f := range l.files {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	l.files, l.list = nil, nil
}

func (l *records) each(visit func(*record)) error {
	if len(l.files) == 0 {
		l.sort()
		for i := range l.list {
			visit(&l.list[i])
		}
		return nil
	}
	if err := l.spill(); err != nil {
		return err
	}
	var all runs
	for _, f := range l.files {
		r := &run{in: bufio.NewReaderSize(f, 64<<10)}
		if err := r.next(); err == nil {
			all = append(all, r)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	heap.Init(&all)
	for len(all) > 0 {
		visit(&all[0].at)
		switch err := all[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&all)
		case err != nil:
			return fmt.Errorf("read uses of ids from a temporary file: %w", err)
		default:
			heap.Fix(&all, 0)
		}
	}
	return nil
}

// run is one sorted file being read.
type run struct {
	in   *bufio.Reader
	at   record
	line [recordSize]byte
}

func (r *run) next() error {
	if _, err := io.ReadFull(r.in, r.line[:]); err != nil {
		return err
	}
	r.at.read(r.line[:])
	return nil
}

type runs []*run

func (r runs) Len() int           { return len(r) }
func (r runs) Less(i, j int) bool { return compare(&r[i].at, &r[j].at) < 0 }
func (r runs) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }

func (r *runs) Push(x any) {
	if one, ok := x.(*run); ok {
		*r = append(*r, one)
	}
}

func (r *runs) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
