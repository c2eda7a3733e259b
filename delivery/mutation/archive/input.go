package archive

import (
	"bufio"
	"errors"
	"io"
)

// input counts the bytes of the stream. It reads single bytes too, so that deflate takes none too many.
type input struct {
	*bufio.Reader
	at int64
}

// newInput has a buffer that is larger than any header, so that those can be looked at whole.
func newInput(r io.Reader) *input { return &input{Reader: bufio.NewReaderSize(r, 256<<10)} }

func (in *input) Read(p []byte) (int, error) {
	n, err := in.Reader.Read(p)
	in.at += int64(n)
	return n, err
}

func (in *input) ReadByte() (byte, error) {
	b, err := in.Reader.ReadByte()
	if err == nil {
		in.at++
	}
	return b, err
}

// take gives the next n bytes; they hold until the next read.
func (in *input) take(n int) ([]byte, error) {
	b, err := in.Peek(n)
	if err != nil {
		return nil, cutOff(err)
	}
	if _, err := in.Discard(n); err != nil {
		return nil, cutOff(err)
	}
	in.at += int64(n)
	return b, nil
}

// cutOff makes the end of the stream the error it is inside a zip.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}
