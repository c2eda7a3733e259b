package lint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Any is Zip for what begins as a zip or has the name of one, and File for the rest. That r cannot be read at all is an error
// besides.
func (l *Linter) Any(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	start, err := in.Peek(4)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read %s: %w", name, err)
	case isZip(start), strings.EqualFold(filepath.Ext(name), ".zip"):
		return l.Zip(name, in)
	}
	return l.File(name, in)
}

// isZip reports whether the first four bytes begin a zip, which may be empty.
func isZip(start []byte) bool {
	return bytes.Equal(start, []byte("PK\x03\x04")) || bytes.Equal(start, []byte("PK\x05\x06"))
}

// Zip looks at the files of a delivery. It fails as File does; a broken zip is a finding, and so is a file that is no zip.
func (l *Linter) Zip(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	switch start, err := in.Peek(4); {
	case len(start) == 0 && errors.Is(err, io.EOF):
		l.zipError(name, "", errors.New("it is no zip: it is empty"))
		return nil
	case err == nil && !isZip(start), err != nil && !bytes.HasPrefix([]byte("PK"), start[:min(len(start), 2)]):
		l.zipError(name, "", errors.New("it is no zip: it does not begin as one"))
		return nil
	}
	zip := archive.NewReader(in, l.options.Zip)
	var first format.Header
	last := ""
	for {
		f, err := zip.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.zipError(name, last, err)
			return nil
		}
		last = f.Name
		h, err := l.file(name+"/"+f.Name, f)
		if err != nil {
			return err
		}
		switch {
		case first.Version == "":
			first = h
		case h.Version != "" && (h.Dataset != first.Dataset || h.DeliveryID != first.DeliveryID || h.Type != first.Type || h.Version != first.Version):
			l.here(Mixed, Error, 0, 0, "", "the file belongs to another delivery than the first one in the zip")
		}
	}
	if last == "" {
		l.zipError(name, "", errors.New("the zip has no files"))
	}
	for _, note := range zip.Notes() {
		l.files = append(l.files, name)
		l.here(Unreadable, Warning, 0, 0, "", note)
	}
	return nil
}

// zipError reports a broken zip, unless the file it broke in has reported that already. A name that stands in the zip twice is
// that of another file.
func (l *Linter) zipError(name, last string, err error) {
	var place *archive.Error
	if errors.As(err, &place) && place.Entry == last && last != "" && !errors.Is(err, archive.ErrName) {
		return
	}
	l.files = append(l.files, name)
	l.unreadable(err)
}
