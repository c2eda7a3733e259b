package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/store"
	"schakel/templates/i18n"
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

// ahead is a source of which the first group was looked at.
type ahead struct {
	Source
	group *format.Group
	at    archive.Position
	err   error
	held  bool
}

// lookAhead makes sure that there is a sound first group, or a sound end: before that, nothing is replaced for it.
func lookAhead(s Source, d store.Dataset, kind string) (Source, error) {
	a := &ahead{Source: s, held: true}
	a.group, a.at, a.err = s.Next()
	_, lines := s.(*lineSource)
	switch {
	case errors.Is(a.err, io.EOF) && lines: // of which none came: whoever makes them may have failed
		return nil, &Refused{Problems: []Problem{{
			Code: CodeHeader, Detail: "datasets.problem.body-empty", Remedy: i18n.M("datasets.remedy.body-empty", `{"groups":[]}`),
		}}}
	case errors.Is(a.err, io.EOF) && !errors.Is(a.err, io.ErrUnexpectedEOF):
		return a, nil
	case a.err != nil:
		return nil, refusedSource(a.err)
	}
	p := &preparer{dataset: d, kind: kind}
	if _, problems := p.prepare(a.group, a.at); len(problems) > 0 {
		return nil, &Refused{Problems: problems}
	}
	return a, nil
}

// Next implements Source.
func (a *ahead) Next() (*format.Group, archive.Position, error) {
	if a.held {
		a.held = false
		return a.group, a.at, a.err
	}
	return a.Source.Next()
}

// memberNames lists the members of a group and of its parts.
var memberNames = [...]string{"mutations", "objectType", "objectId", "was", "wordt", "id", "xml"}

// open is an object or array that has not ended yet.
type open struct {
	object bool
	seen   uint8 // which of memberNames it has
}

// checkNames wants every member of a group named as it is, and once in its object: of two, one would be lost without a word.
// The group is sound JSON.
func checkNames(raw []byte) error {
	var stack []open
	name := false // a string here is a name
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			name = raw[i] == '{'
			stack = append(stack, open{object: name})
		case '}', ']':
			name, stack = false, stack[:len(stack)-1]
		case ',':
			name = len(stack) > 0 && stack[len(stack)-1].object
		case '"':
			end := stringEnd(raw, i+1)
			if name {
				if err := stack[len(stack)-1].name(raw[i+1 : end]); err != nil {
					return err
				}
				name = false
			}
			i = end
		}
	}
	return nil
}

// stringEnd finds the quote that ends the string which begins at from.
func stringEnd(raw []byte, from int) int {
	for {
		at := from + bytes.IndexByte(raw[from:], '"')
		slashes := 0
		for raw[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
		from = at + 1
	}
}

func (o *open) name(text []byte) error {
	n := slices.Index(memberNames[:], string(text))
	if n < 0 {
		return fmt.Errorf("%w: there is no member %q; names are written as documented", ErrJSON, shortened(text))
	}
	if o.seen&(1<<n) != 0 {
		return fmt.Errorf("%w: the member %q is there twice", ErrJSON, text)
	}
	o.seen |= 1 << n
	return nil
}

func shortened(text []byte) []byte { return text[:min(len(text), 40)] }

func compareHeader(req *Request, d store.Dataset, h *format.Header) error {
	if h.Dataset == "" {
		return headerProblem(req.Name, "datasets.problem.no-dataset", i18n.M("datasets.remedy.no-dataset", d.ID))
	}
	if !strings.EqualFold(h.Dataset, d.ID) {
		return headerProblem(req.Name, i18n.M("datasets.problem.other-dataset", h.Dataset, d.ID), "datasets.remedy.other-dataset")
	}
	if initial := req.Kind == store.PublicationInitial; h.Type == format.Initial && !initial || h.Type == format.Delta && initial {
		return headerProblem(req.Name, i18n.M("datasets.problem.other-type", fmt.Sprint(h.Type)), "datasets.remedy.other-type")
	}
	for _, name := range h.ObjectTypes {
		if _, ok := objectType(d, name); !ok {
			return headerProblem(req.Name, i18n.M("datasets.problem.type", name), "datasets.remedy.type")
		}
	}
	return nil
}

func headerProblem(name string, detail, remedy i18n.Message) error {
	return &Refused{Problems: []Problem{{File: name, Code: CodeHeader, Detail: detail, Remedy: remedy}}}
}

// objectType finds how the dataset writes a type: files differ in the first letter (MUT-63).
func objectType(d store.Dataset, name string) (string, bool) {
	if slices.Contains(d.ObjectTypes, name) {
		return name, true
	}
	for _, t := range d.ObjectTypes {
		if format.FoldType(t) == format.FoldType(name) {
			return t, true
		}
	}
	return "", false
}
