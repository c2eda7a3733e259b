package xmlscan

import (
	"bytes"
	"errors"
	"io"
)

// startBuffer sizes the first buffer of a scanner; it grows only for a token or a captured piece that does not fit.
const startBuffer = 64 << 10

// firstSize gives the first size of a buffer for r: no larger than what there is to read, and room to see its end, when r can
// tell. Small pieces of XML come by the million.
func firstSize(r io.Reader) int {
	if sized, ok := r.(interface{ Len() int }); ok {
		return min(startBuffer, sized.Len()+16)
	}
	return startBuffer
}

// buffer is a window on the document. Positions are counted from the start of the current token, so that they hold
// when the window moves.
type buffer struct {
	src     io.Reader
	buf     []byte
	tok     int   // where the current token starts in buf
	end     int   // where the read bytes end in buf
	base    int64 // position of buf[0] in the document
	capture int64 // position from which bytes are kept, or -1
	ended   error // what the reader answered last: io.EOF or a failure
}

// have reports whether n bytes of the token are there, and reads until they are or the document ends.
func (b *buffer) have(n int) (bool, error) {
	for b.end-b.tok < n {
		if b.ended != nil {
			return false, b.failure()
		}
		b.fill()
	}
	return true, nil
}

// failure gives the error of the reader below; the end of the document is no failure here.
func (b *buffer) failure() error {
	if errors.Is(b.ended, io.EOF) {
		return nil
	}
	return &SyntaxError{Err: b.ended}
}

// fill reads once; it makes room by dropping what nobody needs, or by growing.
func (b *buffer) fill() {
	keep := b.tok
	if b.capture >= 0 {
		keep = min(keep, int(b.capture-b.base))
	}
	switch {
	case b.end < len(b.buf):
	case keep > len(b.buf)/2 || keep > 0 && b.end-keep < len(b.buf)/2:
		copy(b.buf, b.buf[keep:b.end])
		b.tok, b.end, b.base = b.tok-keep, b.end-keep, b.base+int64(keep)
	default:
		b.buf = append(b.buf, make([]byte, max(startBuffer, len(b.buf)))...)
	}
	n, err := b.src.Read(b.buf[b.end:])
	b.end += n
	b.ended = err
}

// find gives the position of the text in the token, from position i on, or -1 when the document ends before it.
func (b *buffer) find(text string, i, most int) (int, error) {
	for {
		from := min(b.tok+i, b.end)
		if at := indexOf(b.buf[from:b.end], text); at >= 0 {
			return from - b.tok + at, nil
		}
		got := b.end - b.tok
		if got > most {
			return 0, NewLimit("a token of more than %d bytes", most)
		}
		i = max(i, got-len(text)+1)
		if more, err := b.have(got + 1); !more {
			return -1, err
		}
	}
}

func indexOf(in []byte, text string) int {
	if len(text) == 1 {
		return bytes.IndexByte(in, text[0])
	}
	return bytes.Index(in, []byte(text))
}

// view is the token from i to j.
func (b *buffer) view(i, j int) []byte { return b.buf[b.tok+i : b.tok+j] }

// offset gives the position of the current token in the document.
func (b *buffer) offset() int64 { return b.base + int64(b.tok) }
