package archive

import (
	"archive/zip"
	"compress/flate"
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

const (
	// packStep is the number of bytes of a file after which their packing is measured.
	packStep = 32 << 10
	// packFree counts the bytes that may pack as well as they do.
	packFree = 512 << 10
	// packDense limits the bytes that come of each, to half of what readers take for a bomb.
	packDense = 100
	// packLoose limits the bytes that come of each before packing is tight again after it was loose.
	packLoose = 50
	// packTight is the level that reaches most of the ratio on XML at a third of the time of the default one.
	packTight = flate.BestSpeed
)

// packers makes what packs the files of a zip. What repeats itself packs so well that its readers would take the zip for a
// bomb (MUT-30): from there on repetitions are left alone, until the whole is loose enough. The same files give the same bytes.
type packers struct {
	tight, loose *flate.Writer // one of each for all files, since only one is written at a time
	in, out      int64         // of the files before
}

// next packs the next file.
func (s *packers) next(w io.Writer) (io.WriteCloser, error) {
	p := &packer{all: s, out: &counting{to: w}}
	if err := p.use(&s.tight, packTight); err != nil {
		return nil, err
	}
	return p, p.choose()
}

// packer packs a file.
type packer struct {
	all *packers
	out *counting
	now *flate.Writer
	in  int64

	loose bool // it is the loose one
}

// Write implements io.Writer.
func (p *packer) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := p.now.Write(b[done:min(len(b), done+int(packStep-p.in%packStep))])
		done, p.in = done+n, p.in+int64(n)
		if err == nil && p.in%packStep == 0 {
			err = p.choose()
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// choose goes on loosely when so much packs so well, and tightly when it does not. What is behind a flush begins on a byte.
func (p *packer) choose() error {
	most := int64(packDense)
	if p.loose {
		most = packLoose
	}
	loose := dense(p.in, p.out.n, most) || dense(p.all.in+p.in, p.all.out+p.out.n, most)
	if loose == p.loose {
		return nil
	}
	if err := p.now.Flush(); err != nil {
		return err
	}
	p.loose = loose
	if loose {
		return p.use(&p.all.loose, flate.HuffmanOnly)
	}
	return p.use(&p.all.tight, packTight)
}

// use goes on with one of the two, which is made when it is first needed.
func (p *packer) use(w **flate.Writer, level int) (err error) {
	if *w == nil {
		if *w, err = flate.NewWriter(p.out, level); err != nil {
			return fmt.Errorf("pack a file: %w", err)
		}
	}
	p.now = *w
	p.now.Reset(p.out)
	return nil
}

func dense(in, out, most int64) bool { return in > packFree && in/most > out }

// Close implements io.Closer.
func (p *packer) Close() error {
	err := p.now.Close()
	p.all.in, p.all.out = p.all.in+p.in, p.all.out+p.out.n
	return err
}

type counting struct {
	to io.Writer
	n  int64
}

// Write implements io.Writer.
func (c *counting) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}
