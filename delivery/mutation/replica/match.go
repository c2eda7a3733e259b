package replica

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/format/xmlscan"
)

// Match sets how the copy finds the state that a WAS refers to. The zero value goes by the id (MUT-12).
type Match struct {
	AllFields bool     // by all fields: whatever has the same ones (MUT-15)
	Key       []string // by the texts of these elements, as named in Texts (MUT-16)
}

// ParseMatch reads "id", "all-fields" or "key=Element1,Element2".
func ParseMatch(text string) (Match, error) {
	names, isKey := strings.CutPrefix(text, "key=")
	switch {
	case text == "" || text == "id":
		return Match{}, nil
	case text == "all-fields":
		return Match{AllFields: true}, nil
	case !isKey:
		return Match{}, fmt.Errorf("%q is no way to match: it is id, all-fields, or key= and names of elements", text)
	}
	key := strings.Split(names, ",")
	for i := range key {
		if key[i] = strings.TrimSpace(key[i]); key[i] == "" {
			return Match{}, errors.New("key= has a name without letters")
		}
	}
	return Match{Key: key}, nil
}

// String is the form that ParseMatch reads.
func (m Match) String() string {
	switch {
	case m.AllFields:
		return "all-fields"
	case len(m.Key) > 0:
		return "key=" + strings.Join(m.Key, ",")
	}
	return "id"
}

func (m Match) byID() bool { return !m.AllFields && len(m.Key) == 0 }

// longestKey bounds a key that is stored as it is, in bytes; of a longer one the hash is stored.
const longestKey = 400

func (m Match) ref(s *format.State) (string, error) {
	switch {
	case m.AllFields:
		sum, err := s.Digest()
		return base64.RawStdEncoding.EncodeToString(sum[:]), err
	case len(m.Key) > 0:
		return m.key(s)
	case s.ID == "":
		return "", fault(ErrNoID, "match all fields or a key in place of it")
	}
	return s.ID, nil
}

// key joins the type of the object and the texts with a character that XML cannot hold.
func (m Match) key(s *format.State) (string, error) {
	texts, err := Texts(s, m.Key)
	if err != nil {
		return "", err
	}
	parts, some := []string{s.Object}, false
	for _, name := range m.Key {
		some = some || len(texts[name]) > 0
		parts = append(parts, strings.Join(texts[name], "\x1e"))
	}
	if !some {
		return "", fault(ErrRefused, "a state has none of the elements of the key: %s", strings.Join(m.Key, ", "))
	}
	key := strings.Join(parts, "\x1f")
	if len(key) > longestKey {
		sum := sha256.Sum256([]byte(key))
		key = base64.RawStdEncoding.EncodeToString(sum[:])
	}
	return key, nil
}

// Texts gives the texts of elements by their local names, in their order; white space around them does not count. A name
// can say the elements around it too, as NEN3610ID/lokaalID. What is in an element counts as its text.
func Texts(s *format.State, names []string) (map[string][]string, error) {
	t := texts{names: names, out: map[string][]string{}, scan: xmlscan.New(bytes.NewReader(s.XML), xmlscan.Limits{})}
	if err := t.scan.Declare(s.Namespaces); err != nil {
		return nil, err
	}
	for {
		tok, err := t.scan.Next()
		if errors.Is(err, io.EOF) {
			return t.out, nil
		}
		if err != nil {
			return nil, err
		}
		t.take(tok)
	}
}

type texts struct {
	names []string
	scan  *xmlscan.Scanner
	path  []string
	open  []openText
	out   map[string][]string
}

type openText struct {
	name  string
	depth int
	text  []byte
}

func (t *texts) take(tok *xmlscan.Token) {
	switch tok.Kind {
	case xmlscan.Start:
		t.path = append(t.path, t.scan.Intern(xmlscan.Local(tok.Name)))
		for _, name := range t.names {
			if t.at(name) {
				t.open = append(t.open, openText{name: name, depth: len(t.path)})
			}
		}
	case xmlscan.Text, xmlscan.CData:
		for i := range t.open {
			if tok.Kind == xmlscan.Text {
				t.open[i].text = xmlscan.AppendText(t.open[i].text, tok.Text)
			} else {
				t.open[i].text = append(t.open[i].text, tok.Text...)
			}
		}
	case xmlscan.End:
		t.open = slices.DeleteFunc(t.open, func(o openText) bool {
			if o.depth == len(t.path) {
				t.out[o.name] = append(t.out[o.name], strings.TrimSpace(string(o.text)))
			}
			return o.depth == len(t.path)
		})
		t.path = t.path[:len(t.path)-1]
	}
}

// at reports whether the current element has a name, with those around it.
func (t *texts) at(name string) bool {
	for i := len(t.path) - 1; i >= 0; i-- {
		rest, last, more := cutLast(name)
		if t.path[i] != last {
			return false
		}
		if !more {
			return true
		}
		name = rest
	}
	return false
}

func cutLast(name string) (rest, last string, more bool) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return "", name, false
}

// project gives what is stored of a state in place of its XML: a JSON object with a text a name, or a list of them.
func project(s *format.State, names []string) (string, error) {
	texts, err := Texts(s, names)
	if err != nil {
		return "", err
	}
	out := map[string]any{}
	for name, list := range texts {
		out[name] = list
		if len(list) == 1 {
			out[name] = list[0]
		}
	}
	raw, err := json.Marshal(out)
	return string(raw), err
}
