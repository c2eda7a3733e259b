package archive

import (
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
)

// Reader reads a zip from a stream, file by file. It is not safe for concurrent use.
type Reader struct {
	in       *input
	limits   Limits
	records  []record
	names    map[string]bool // in small letters
	last     string          // the name before
	unsorted bool            // the names are not in the order of their bytes
	mixed    bool            // nor in that of their letters, whether small or capital
	packed   int64           // of the files before
	unpacked int64
	file     *File
	inflate  io.ReadCloser
	notes    []string
	err      error
}

// File is one file of the zip; it is read once, before the next.
type File struct {
	Name  string
	Index int // among the files, from 1
	zip   *Reader
	rec   *record
	data  io.Reader
	start int64 // where its data start in the stream
	crc   uint32
	size  int64
	err   error
}

// NewReader reads a zip from r, which is not closed. Of what comes behind the zip nothing is accepted.
func NewReader(r io.Reader, limits Limits) *Reader {
	return &Reader{in: newInput(r), limits: limits.filled(), names: map[string]bool{}}
}

// Notes lists the deviations that were let pass.
func (r *Reader) Notes() []string { return r.notes }

// Next gives the next file, or io.EOF when the zip was whole and everything in it was seen. What is left of the file
// before is read and checked first. Other errors are *Error.
func (r *Reader) Next() (*File, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.file, nil
}

func (r *Reader) next() error {
	if r.file != nil {
		if _, err := io.Copy(io.Discard, r.file); err != nil {
			return err
		}
	}
	for {
		mark, err := r.in.Peek(4)
		if err != nil {
			return r.outside(cutOff(err))
		}
		if binary.LittleEndian.Uint32(mark) != markLocal {
			return r.outside(r.readEnd())
		}
		rec, err := r.in.readLocal()
		if err != nil {
			return &Error{Entry: rec.name, Index: len(r.records) + 1, Err: err}
		}
		if err := r.accept(rec); err != nil {
			return r.wrap(rec.name, err)
		}
		r.open()
		if !strings.HasSuffix(rec.name, "/") {
			return nil
		}
		if err := r.folder(); err != nil {
			return err
		}
	}
}

// folder reads over the entry of a folder, which some programs pack although there is nothing in it.
func (r *Reader) folder() error {
	if n, err := io.Copy(io.Discard, r.file); err != nil {
		return err
	} else if n > 0 {
		return r.wrap(r.file.Name, fault(ErrName, "the folder %.60q has content", r.file.Name))
	}
	return nil
}

func (r *Reader) wrap(name string, err error) error {
	return &Error{Entry: name, Index: len(r.records), Err: err}
}

func (r *Reader) outside(err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	return &Error{Err: err}
}

// accept decides whether an entry may be read, by its header alone.
func (r *Reader) accept(rec record) error {
	r.records = append(r.records, rec)
	name, folder := strings.CutSuffix(rec.name, "/")
	lower := strings.ToLower(name)
	switch err := checkName(name); {
	case err != nil:
		return err
	case len(r.records) > r.limits.Entries:
		return fault(ErrLimit, "more than %d files", r.limits.Entries)
	case r.names[lower]:
		return fault(ErrName, "%.60q stands there twice", name)
	case folder && rec.unpacked != 0:
		return fault(ErrName, "the folder %.60q has content", name)
	case rec.unpacked > r.limits.Entry:
		return fault(ErrLimit, "a file of %d bytes", rec.unpacked)
	}
	r.names[lower] = true
	return r.inOrder(rec.name)
}

// inOrder takes the order of the alphabet as well as that of the bytes, which differ where there are capitals.
func (r *Reader) inOrder(name string) error {
	before := r.last
	r.last = name
	r.unsorted = r.unsorted || name <= before
	r.mixed = r.mixed || strings.ToLower(name) <= strings.ToLower(before) && before != ""
	if !r.unsorted || !r.mixed {
		return nil
	}
	return fault(ErrOrder, "%.60q comes behind %.60q", name, before)
}

func (r *Reader) note(text string) {
	if len(r.notes) < 100 {
		r.notes = append(r.notes, text)
	}
}

// open makes the entry that was accepted last readable.
func (r *Reader) open() {
	rec := &r.records[len(r.records)-1]
	f := &File{Name: rec.name, Index: len(r.records), zip: r, rec: rec, start: r.in.at()}
	f.data = &plain{in: r.in, left: rec.packed}
	switch {
	case rec.method == deflated:
		f.data = r.inflater()
	case rec.flags&flagDescriptor != 0 && rec.packed == 0:
		f.data = &unsized{in: r.in}
	}
	r.file = f
}

// inflater gives the one that all files share. It finds the end of the data by itself; the place that the header says is
// compared with it then.
func (r *Reader) inflater() io.Reader {
	if r.inflate == nil {
		r.inflate = flate.NewReader(r.in)
	} else if again, ok := r.inflate.(flate.Resetter); ok {
		_ = again.Reset(r.in, nil) // it answers nil always
	}
	return r.inflate
}

// plain is the data of a file that is stored as it is.
type plain struct {
	in   *input
	left int64 // bytes
}

func (s *plain) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, io.EOF
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// read counts the packed bytes read so far.
func (f *File) read() int64 { return f.zip.in.at() - f.start }

// Read reads unpacked bytes. Its io.EOF comes only after checksum and sizes were found right. Other errors are *Error.
func (f *File) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.data.Read(p)
	f.crc = crc32.Update(f.crc, crc32.IEEETable, p[:n])
	f.size += int64(n)
	if limited := f.bounded(); limited != nil {
		n, err = 0, limited
	} else if errors.Is(err, io.EOF) {
		if err = f.finish(); err == nil {
			err = io.EOF
		}
	} else if err != nil {
		err = f.failure(err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.zip.wrap(f.Name, err)
		f.zip.err = err
	}
	f.err = err
	return n, err
}

func (f *File) bounded() error {
	z := f.zip
	switch {
	case f.size > z.limits.Entry:
		return fault(ErrLimit, "a file of more than %d bytes", z.limits.Entry)
	case z.unpacked+f.size > z.limits.Total:
		return fault(ErrLimit, "more than %d bytes in all", z.limits.Total)
	}
	if err := z.limits.allow(f.size, f.read()); err != nil {
		return err
	}
	return z.limits.allow(z.unpacked+f.size, z.packed+f.read())
}

func (f *File) failure(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return fault(ErrZip, "%v", err)
	}
	return cutOff(err)
}
