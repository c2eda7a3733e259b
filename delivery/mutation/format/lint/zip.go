package lint

import (
	"errors"
	"io"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// Zip looks at the files of a delivery. Errors are as those of File; a broken zip is a finding.
func (l *Linter) Zip(name string, r io.Reader) error {
	zip := archive.NewReader(r, l.options.Zip)
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
	for _, note := range zip.Notes() {
		l.files = append(l.files, name)
		l.here(Unreadable, Warning, 0, 0, "", note)
	}
	return nil
}

// zipError tells of a broken zip, unless the file it broke in has told that already.
func (l *Linter) zipError(name, last string, err error) {
	var place *archive.Error
	if errors.As(err, &place) && place.Entry == last && last != "" {
		return
	}
	l.files = append(l.files, name)
	l.unreadable(err)
}
