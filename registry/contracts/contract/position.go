package contract

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"schakel/registry/jsonpointer"
	"schakel/registry/strictjson"
)

// Locate gives the place of the value that a JSON Pointer leads to, both from 1, the column in code points. It reads the
// document anew. Findings have their place already.
func (d *Document) Locate(pointer string) (line, column int) {
	f := d.place([]Finding{{Pointer: pointer}})[0]
	return f.Line, f.Column
}

// place fills in the line and column of findings that have none. The place of a member is that of its name. Where a
// pointer leads to nothing, the nearest place above it counts. Nothing is computed until there is a finding.
func (d *Document) place(findings []Finding) []Finding {
	wanted := &spot{}
	for i := range findings {
		wanted.add(findings[i].Pointer)
	}
	if d.tree != nil {
		wanted.locateYAML(d.tree, d.tree.Line, d.tree.Column)
	} else if len(findings) > 0 {
		newJSONLocator(d.content).value(wanted)
	}
	for i := range findings {
		if f := &findings[i]; f.Line == 0 {
			f.Line, f.Column = wanted.find(f.Pointer)
		}
	}
	if d.tree != nil {
		clamp(findings, d.content)
	}
	return findings
}

// clamp brings back what YAML places on the line after the last, where it met the end.
func clamp(findings []Finding, content []byte) {
	line, column := lineColumn(content, len(content))
	for i := range findings {
		if f := &findings[i]; f.Line > line {
			f.Line, f.Column = line, column
		}
	}
}

// spot is a place in the document that is looked for, with those below it.
type spot struct {
	line, column int
	ends         bool // a pointer ends here
	below        map[string]*spot
}

func (s *spot) add(p string) {
	if list, ok := jsonpointer.Tokens(p); ok {
		s.addTokens(list)
	}
}

func (s *spot) addTokens(list []string) {
	for _, token := range list {
		if s.below == nil {
			s.below = map[string]*spot{}
		}
		if s.below[token] == nil {
			s.below[token] = &spot{}
		}
		s = s.below[token]
	}
	s.ends = true
}

func (s *spot) find(p string) (line, column int) {
	line, column = s.line, s.column
	list, _ := jsonpointer.Tokens(p)
	for _, token := range list {
		if s = s.below[token]; s == nil || s.line == 0 {
			break
		}
		line, column = s.line, s.column
	}
	return line, column
}

// locateYAML follows the tree only on the way to wanted places; line and column locate the member name.
func (s *spot) locateYAML(n *yaml.Node, line, column int) {
	s.line, s.column = line, column
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if len(s.below) == 0 {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode && key.Alias != nil {
				key = key.Alias
			}
			if below := s.below[key.Value]; below != nil {
				below.locateYAML(n.Content[i+1], n.Content[i].Line, n.Content[i].Column)
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if below := s.below[strconv.Itoa(i)]; below != nil {
				below.locateYAML(item, item.Line, item.Column)
			}
		}
	}
}

// jsonLocator walks JSON that is known to be valid and notes where the spots stand.
type jsonLocator struct {
	strictjson.Scanner
	line    int
	column  int // code points before counted, on this line
	counted int // up to where line and column count
}

func newJSONLocator(content []byte) *jsonLocator {
	l := &jsonLocator{Scanner: strictjson.Scanner{Buf: content, Depth: math.MaxInt}, line: 1}
	if bytes.HasPrefix(content, []byte("\ufeff")) {
		l.Pos, l.counted = 3, 3
	}
	return l
}

// mark notes that a spot stands at an offset, which is behind those marked before.
func (l *jsonLocator) mark(s *spot, offset int) {
	if s == nil || s.line != 0 {
		return
	}
	passed := l.Buf[l.counted:offset]
	if lines := bytes.Count(passed, []byte{'\n'}); lines > 0 {
		l.line, l.column = l.line+lines, 0
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	l.column, l.counted = l.column+utf8.RuneCount(passed), offset
	s.line, s.column = l.line, 1+l.column
}

// value passes one value; it goes into it only where something is looked for.
func (l *jsonLocator) value(s *spot) {
	c := l.Peek()
	l.mark(s, l.Pos)
	if s == nil || len(s.below) == 0 || c != '{' && c != '[' {
		l.Value()
		return
	}
	closing := c + 2 // in ASCII
	if l.Open(); l.Peek() == closing {
		l.Close()
		return
	}
	for i, more := 0, true; more; i++ {
		below := s.below[strconv.Itoa(i)]
		if c == '{' {
			below = l.member(s)
		}
		l.value(below)
		more, _ = l.Next(closing)
	}
}

// member takes the name of the next member and gives the spot that is looked for there.
func (l *jsonLocator) member(s *spot) *spot {
	l.Peek()
	start := l.Pos
	found, _ := l.Name()
	name := l.Buf[found.From:found.To]
	if !found.Plain {
		name, _ = strictjson.Unescape(nil, name)
	}
	below := s.below[string(name)]
	l.mark(below, start)
	return below
}

// LocateJSON gives the place of a JSON Pointer in JSON text, both from 1, the column in code points. Where a
// pointer leads to nothing, the nearest place above it counts.
func LocateJSON(content []byte, pointer string) (line, column int) {
	d := &Document{content: content}
	return d.Locate(pointer)
}

// place locates a value, written out as a pointer only when a finding needs it. The nil place is the root.
type place struct {
	above *place
	token string
	known string // the pointer itself, where it is known; above and token are unused then
}

// top is the place of the whole document.
func top() *place { return nil }

// to gives the place that these names lead to from here.
func (p *place) to(tokens ...string) *place {
	for _, token := range tokens {
		p = &place{above: p, token: token}
	}
	return p
}

// up gives the place above; nil at the root.
func (p *place) up() *place {
	if p == nil {
		return nil
	}
	return p.above
}

// String gives the JSON Pointer.
func (p *place) String() string {
	var tokens []string
	base := ""
	for ; p != nil; p = p.above {
		if p.known != "" {
			base = p.known
			break
		}
		tokens = append(tokens, p.token)
	}
	slices.Reverse(tokens)
	return base + jsonpointer.Join(tokens...)
}
