package lint

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

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

// each gives all records in order.
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
