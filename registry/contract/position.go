package contract

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"schakel/registry/jsonpointer"

	"go.yaml.in/yaml/v4"
)

// Locate tells where the value stands that a JSON Pointer leads to, both from 1, the column in code points. It reads the
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
		l := &jsonLocator{src: d.content, line: 1}
		l.skipBOM()
		l.value(wanted)
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

// locateYAML follows the tree only where something is looked for; line and column are those of the member name.
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

// jsonLocator walks JSON that is known to be valid.
type jsonLocator struct {
	src     []byte
	pos     int
	line    int
	column  int // code points before counted, on this line
	counted int // up to where column counts
}

func (l *jsonLocator) skipBOM() {
	if bytes.HasPrefix(l.src, []byte("\ufeff")) {
		l.pos, l.counted = 3, 3
	}
}

// space skips what stands between tokens, commas and colons too.
func (l *jsonLocator) space() {
	for l.pos < len(l.src) {
		switch l.src[l.pos] {
		case '\n':
			l.line, l.column, l.counted = l.line+1, 0, l.pos+1
		case ' ', '\t', '\r', ',', ':':
		default:
			return
		}
		l.pos++
	}
}

func (l *jsonLocator) mark(s *spot) {
	if s != nil && s.line == 0 {
		l.column += utf8.RuneCount(l.src[l.counted:l.pos])
		l.counted = l.pos
		s.line, s.column = l.line, 1+l.column
	}
}

// text skips a string and gives it with its quotes.
func (l *jsonLocator) text() []byte {
	start := l.pos
	for l.pos++; l.src[l.pos] != '"'; l.pos++ {
		if l.src[l.pos] == '\\' {
			l.pos++
		}
	}
	l.pos++
	return l.src[start:l.pos]
}

func (l *jsonLocator) value(s *spot) {
	l.space()
	l.mark(s)
	switch l.src[l.pos] {
	case '{', '[':
		l.container(s, l.src[l.pos] == '{')
	case '"':
		l.text()
	default:
		for l.pos < len(l.src) && bytes.IndexByte([]byte(" \t\r\n,]}"), l.src[l.pos]) < 0 {
			l.pos++
		}
	}
}

func (l *jsonLocator) container(s *spot, object bool) {
	l.pos++
	for i := 0; ; i++ {
		l.space()
		if c := l.src[l.pos]; c == '}' || c == ']' {
			l.pos++
			return
		}
		below := l.member(s, i, object)
		l.value(below)
	}
}

// member reads the name of the next member, if any, and gives the spot that is looked for there.
func (l *jsonLocator) member(s *spot, index int, object bool) *spot {
	if !object {
		if s == nil {
			return nil
		}
		return s.below[strconv.Itoa(index)]
	}
	start := l.pos
	raw := l.text()
	if s == nil || s.below == nil {
		return nil
	}
	name, _ := (&jsonReader{}).unquote(raw[1:len(raw)-1], false)
	below := s.below[name]
	end := l.pos
	l.pos = start
	l.mark(below)
	l.pos = end
	return below
}

// LocateJSON tells where in JSON text a place is, given by its JSON Pointer; both from 1, the column in code points. Where a
// pointer leads to nothing, the nearest place above it counts.
func LocateJSON(content []byte, pointer string) (line, column int) {
	d := &Document{content: content}
	return d.Locate(pointer)
}
