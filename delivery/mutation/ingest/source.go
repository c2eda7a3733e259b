package ingest

import (
	"errors"
	"fmt"
	"io"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Source gives what is to be published. It is not safe for concurrent use. Of JSON a WAS may have an id and no XML.
type Source interface {
	// Header gives the header of the file, or nil when the source has none.
	Header() (*format.Header, error)
	// Next gives the next group and where it stands, or io.EOF after the whole of a sound input.
	Next() (*format.Group, archive.Position, error)
	// Bytes counts the bytes read of the input.
	Bytes() int64
}

// FromXML reads a file of the format, of namespace 1.0 or 2.0. Its name is for errors.
func FromXML(name string, r io.Reader, limits format.Limits) Source {
	in := &counter{from: r}
	return &xmlSource{counter: in, name: name, file: format.NewReader(name, in, limits)}
}

// FromZip reads a delivery. A manifest beside it is not asked for.
func FromZip(r io.Reader, limits archive.Limits, bounds format.Limits) Source {
	in := &counter{from: r}
	return &zipSource{counter: in, DeliveryReader: archive.NewDeliveryReader(in, limits, bounds)}
}

// counter counts what is read.
type counter struct {
	from io.Reader
	n    int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// Bytes implements Source.
func (c *counter) Bytes() int64 { return c.n }

type xmlSource struct {
	*counter
	name string
	file *format.Reader
}

// Header implements Source.
func (s *xmlSource) Header() (*format.Header, error) {
	h, err := s.file.Header()
	return &h, err
}

// Next implements Source.
func (s *xmlSource) Next() (*format.Group, archive.Position, error) {
	g, err := s.file.Next()
	if err != nil {
		return nil, archive.Position{}, err
	}
	return g, archive.Position{File: s.name, Index: 1, Group: g.Index}, nil
}

type zipSource struct {
	*counter
	*archive.DeliveryReader
}

// Header implements Source.
func (s *zipSource) Header() (*format.Header, error) {
	h, err := s.DeliveryReader.Header()
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: there is no file in it", archive.ErrZip)
	}
	return &h, endsEarly(err)
}

// Next implements Source.
func (s *zipSource) Next() (*format.Group, archive.Position, error) {
	g, at, err := s.DeliveryReader.Next()
	return g, at, endsEarly(err)
}

// endsEarly tells a file that ends in the middle from a zip that does: the zip goes on behind it, so that sending it again is
// of no use.
func endsEarly(err error) error {
	place, ok := errors.AsType[*format.Error](err)
	if !ok || !errors.Is(place.Err, format.ErrTruncated) || errors.Is(err, archive.ErrTruncated) {
		return err
	}
	early := *place
	early.Err = fmt.Errorf("%w: the file ends in the middle, and the zip does not", format.ErrFormat)
	return &early
}
