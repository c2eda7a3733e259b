package archive

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"time"
)

// Options sets the writing of a zip.
type Options struct {
	Modified time.Time // the time of the files in the zip; zero gives none
}

// Writer writes a zip as a stream: it never goes back, and uses records of 64 bits where sizes ask for them. The same
// files give the same bytes.
type Writer struct {
	zip  *zip.Writer
	out  *tally
	at   time.Time
	last string
}

// tally counts and sums what goes through it.
type tally struct {
	to   io.Writer
	size int64
	sum  hash.Hash
}

func (t *tally) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	t.size += int64(n)
	t.sum.Write(p[:n])
	return n, err
}

// NewWriter writes a zip to w, which is not closed.
func NewWriter(w io.Writer, o Options) *Writer {
	out := &tally{to: w, sum: sha256.New()}
	z := zip.NewWriter(out)
	z.RegisterCompressor(zip.Deflate, new(packers).next)
	return &Writer{zip: z, out: out, at: o.Modified}
}

// Create starts a file. What is written to it is good until the next one. Names must come in their order (MUT-27).
func (w *Writer) Create(name string) (io.Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if name <= w.last {
		return nil, fault(ErrOrder, "%.60q comes behind %.60q", name, w.last)
	}
	w.last = name
	out, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.at})
	if err != nil {
		return nil, fmt.Errorf("start a file in a zip: %w", err)
	}
	return out, nil
}

// Close writes the end of the zip.
func (w *Writer) Close() error {
	if err := w.zip.Close(); err != nil {
		return fmt.Errorf("end a zip: %w", err)
	}
	return nil
}

// Written gives the number of bytes that went out and their SHA-256; after Close both cover the whole zip.
func (w *Writer) Written() (size int64, sum [sha256.Size]byte) {
	return w.out.size, [sha256.Size]byte(w.out.sum.Sum(nil))
}
