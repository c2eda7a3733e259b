package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
	"schakel/registry/sorted"
)

// jsonGroup is a group in JSON: {"mutations":[{"objectType":"…","objectId":"…","was":{"id":"…","xml":"…"},"wordt":{"id":"…","xml":"…"}}]}.
// XML is one element as text, which declares its own namespaces; of a WAS the id alone will do.
type jsonGroup struct {
	Mutations []jsonMutation `json:"mutations"`
}

type jsonMutation struct {
	ObjectType string     `json:"objectType"`
	ObjectID   string     `json:"objectId"`
	Was        *jsonState `json:"was"`
	Wordt      *jsonState `json:"wordt"`
}

type jsonState struct {
	ID  string `json:"id"`
	XML string `json:"xml"`
}

// readGroup reads a group of JSON text that begins at line.
func readGroup(raw []byte, index, line, most int) (*format.Group, error) {
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrJSON)
	}
	if err := checkNames(raw); err != nil {
		return nil, err
	}
	if at := halfEscape(raw); at >= 0 {
		return nil, &badGroup{line + bytes.Count(raw[:at], []byte("\n")), fmt.Errorf("%w: %s is half a character", ErrJSON, raw[at:at+escapeSize])}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var in *jsonGroup
	if err := dec.Decode(&in); err != nil {
		return nil, typeFault(raw, line, err)
	}
	if in == nil {
		return nil, fmt.Errorf("%w: null in place of a group", ErrJSON)
	}
	if len(in.Mutations) > most {
		return nil, fmt.Errorf("%w: more than %d mutations in a group", format.ErrLimit, most)
	}
	g := &format.Group{Index: index, Line: line, Mutations: make([]format.Mutation, len(in.Mutations))}
	for i, m := range in.Mutations {
		g.Mutations[i] = format.Mutation{ObjectType: m.ObjectType, ObjectID: m.ObjectID, Was: m.Was.state(), Wordt: m.Wordt.state(), Line: line}
	}
	return g, nil
}

// state is not checked yet.
func (s *jsonState) state() *format.State {
	if s == nil {
		return nil
	}
	return &format.State{ID: s.ID, XML: []byte(s.XML)}
}

func noJSONPrefix(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// groupBytes bounds the text of a group as that of its states is bounded in XML.
func groupBytes(l format.Limits) int64 {
	if l.Group <= 0 {
		return int64(format.DefaultLimits().Group)
	}
	return int64(l.Group)
}

func groupMutations(l format.Limits) int {
	if l.Mutations <= 0 {
		return format.DefaultLimits().Mutations
	}
	return l.Mutations
}

// FromJSON reads a document {"groups":[…]} as a stream. Its name is for errors.
func FromJSON(name string, r io.Reader, limits format.Limits) Source {
	in := &lineReader{counter: counter{from: &unmarked{from: r}}, most: groupBytes(limits), left: groupBytes(limits)}
	return &jsonSource{name: name, in: in, dec: json.NewDecoder(in), most: groupMutations(limits)}
}

type jsonSource struct {
	name  string
	in    *lineReader
	dec   *json.Decoder
	most  int
	begun bool
	count int
	err   error
}

// Header implements Source.
func (s *jsonSource) Header() (*format.Header, error) { return nil, nil }

// Bytes implements Source.
func (s *jsonSource) Bytes() int64 { return s.in.n }

// Next implements Source.
func (s *jsonSource) Next() (*format.Group, archive.Position, error) {
	at := archive.Position{File: s.name, Index: 1, Group: s.count + 1}
	if s.err != nil {
		return nil, at, s.err
	}
	g, err := s.next()
	if err != nil {
		s.err = err
		if !errors.Is(err, io.EOF) || errors.Is(err, ErrJSON) {
			s.err = &format.Error{File: s.name, Line: lineOr(err, s.in.line(s.dec.InputOffset())), Group: s.count + 1, Err: s.kindOf(err)}
		}
		return nil, at, s.err
	}
	s.count++
	return g, at, nil
}

func (s *jsonSource) next() (*format.Group, error) {
	if !s.begun {
		s.begun = true
		if err := s.expect(json.Delim('{'), "groups", json.Delim('[')); err != nil {
			return nil, err
		}
	}
	if !s.dec.More() {
		if err := s.expect(json.Delim(']'), json.Delim('}')); err != nil {
			return nil, err
		}
		if tok, err := s.dec.Token(); !errors.Is(err, io.EOF) {
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %s behind the document", ErrJSON, tokenText(tok))
		}
		return nil, io.EOF
	}
	group := groupText{index: s.count + 1, most: s.most}
	switch err := s.dec.Decode(&group); {
	case errors.Is(err, io.EOF): // cut off behind a comma
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	line := s.in.line(s.dec.InputOffset() - group.size)
	s.in.rewind()
	return group.in(line)
}

// groupText reads a group while the decoder has its text: a copy of that would be as large again. The line in which it begins
// is known afterwards.
type groupText struct {
	index, most int
	size        int64
	group       *format.Group
	err         error
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *groupText) UnmarshalJSON(raw []byte) error {
	t.size = int64(len(raw))
	t.group, t.err = readGroup(raw, t.index, 0, t.most)
	return nil
}

// in is the group, or what is wrong with it, in a document in which it begins at line.
func (t *groupText) in(line int) (*format.Group, error) {
	if bad, ok := errors.AsType[*badGroup](t.err); ok {
		bad.line += line
	}
	if t.err != nil {
		return nil, t.err
	}
	t.group.Line += line
	for i := range t.group.Mutations {
		t.group.Mutations[i].Line += line
	}
	return t.group, nil
}

func (s *jsonSource) expect(tokens ...json.Token) error {
	for _, want := range tokens {
		got, err := s.dec.Token()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf(`%w: %s where %v belongs: want {"groups":[…]}`, ErrJSON, tokenText(got), want)
		}
	}
	return nil
}

// kindOf separates input that was cut off, or failed on its way, from input that is no JSON.
func (s *jsonSource) kindOf(err error) error {
	var syntax *json.SyntaxError
	switch {
	case s.in.err != nil:
		return s.in.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", format.ErrTruncated, io.ErrUnexpectedEOF)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %w", ErrJSON, syntax)
	}
	return err
}

// Namespaces reads declarations as the store keeps them, a JSON object of prefix to namespace, sorted by prefix.
func Namespaces(text string) ([]format.Namespace, error) {
	if text == "" || text == "{}" {
		return nil, nil
	}
	var pairs map[string]string
	if err := json.Unmarshal([]byte(text), &pairs); err != nil {
		return nil, fmt.Errorf("read namespaces: %w", err)
	}
	out := make([]format.Namespace, 0, len(pairs))
	for prefix, uri := range pairs {
		out = append(out, format.Namespace{Prefix: prefix, URI: uri})
	}
	sorted.By(out, func(a, b format.Namespace) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return out, nil
}

// namespacesText writes declarations as the store keeps them.
func namespacesText(list []format.Namespace) string {
	if len(list) == 0 {
		return "{}"
	}
	pairs := make(map[string]string, len(list))
	for _, n := range list {
		pairs[n.Prefix] = n.URI
	}
	text, _ := json.Marshal(pairs) // strings cannot fail
	return string(text)
}
