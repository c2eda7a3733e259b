package archive

import (
	"bufio"
	"errors"
	"io"
)

// input is the stream with a buffer that is larger than any header, so that those can be looked at whole. Deflate takes
// bytes from it one by one, and so none too many.
type input struct {
	*bufio.Reader
	raw *counted
}

// counted counts what came from below.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func newInput(r io.Reader) *input {
	raw := &counted{Reader: r}
	return &input{Reader: bufio.NewReaderSize(raw, 256<<10), raw: raw}
}

// at is the position in the stream.
func (in *input) at() int64 { return in.raw.n - int64(in.Buffered()) }

// take gives the next n bytes; they hold until the next read.
func (in *input) take(n int) ([]byte, error) {
	b, err := in.Peek(n)
	if err != nil {
		return nil, cutOff(err)
	}
	if _, err := in.Discard(n); err != nil {
		return nil, cutOff(err)
	}
	return b, nil
}

// cutOff makes the end of the stream the error it is inside a zip.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}
