package outline

import (
	"strings"

	"schakel/registry/jsonpointer"
	"schakel/registry/sorted"
)

// Hit is a place in a document where words were found.
type Hit struct {
	Entry   int
	Pointer string // of the part that has them
	// Way leads from the entry to the place, by the names of properties, statuses and so on; empty for the entry itself.
	Way []string
	// Text holds the words that were found and some around them.
	Text string
}

// maxHits bounds what a search shows.
const maxHits = 100

// maxSearched bounds the values that a search looks at.
const maxSearched = 2_000_000

// finder looks for words in the names and texts of a document.
type finder struct {
	outline *Outline
	words   string
	hits    []Hit
	total   int
	left    int
	seen    map[string]bool
}

// Search finds words in the names, summaries, descriptions and values of a document, those in names of entries first. It gives the first 100
// and how many there are.
func (o *Outline) Search(words string) (hits []Hit, total int) {
	f := &finder{outline: o, words: strings.ToLower(strings.TrimSpace(words)), left: maxSearched, seen: map[string]bool{}}
	if f.words == "" {
		return nil, 0
	}
	for i, e := range o.Entries {
		if f.in(e.Name) || f.in(e.Summary) {
			f.add(Hit{Entry: i, Pointer: e.Pointer, Text: e.Summary})
		}
	}
	f.walk(o.doc.root, "")
	sorted.Stable(f.hits, func(a, b Hit) int { return min(len(a.Way), 1) - min(len(b.Way), 1) })
	return f.hits, f.total
}

func (f *finder) in(s string) bool { return strings.Contains(strings.ToLower(s), f.words) }

func (f *finder) add(h Hit) {
	if f.seen[h.Pointer] {
		return
	}
	f.seen[h.Pointer] = true
	if f.total++; len(f.hits) < maxHits {
		f.hits = append(f.hits, h)
	}
}

// walk looks into a value; what it finds belongs to the entry that it lies in.
func (f *finder) walk(s spot, key string) {
	if f.left--; f.left < 0 {
		return
	}
	switch v := s.value.(type) {
	case map[string]any:
		for _, name := range f.outline.doc.names(s) {
			if named(key) && f.in(name) {
				f.found(s.get(name).at, name)
			}
			f.walk(s.get(name), name)
		}
	case []any:
		for i, item := range s.items() {
			if said, ok := item.value.(string); ok && (key == "enum" || key == "tags") && f.in(said) {
				f.found(s.at, said)
			} else if !ok && i < len(v) {
				f.walk(item, key)
			}
		}
	case string:
		if texts(key) && f.in(v) {
			f.found(s.at[:strings.LastIndexByte(s.at, '/')], v)
		}
	}
}

func texts(key string) bool {
	switch key {
	case "description", "summary", "title", "name", "operationId", "const", "messageId", "address", "format", "url":
		return true
	}
	return false
}

// named reports whether the names of members are of the author.
func named(key string) bool {
	switch key {
	case "properties", "responses", "headers", "callbacks", "examples", "securitySchemes", "parameters", "messages":
		return true
	}
	return false
}

func (f *finder) found(pointer, text string) {
	i, ok := f.outline.Find(pointer)
	if !ok {
		return
	}
	e := f.outline.Entries[i]
	f.add(Hit{Entry: i, Pointer: pointer, Way: way(strings.TrimPrefix(pointer, e.Pointer)), Text: f.around(text)})
}

// around cuts a text to what stands around the words.
func (f *finder) around(text string) string {
	const before, longest = 60, 160
	at := strings.Index(strings.ToLower(text), f.words)
	if at > before && at < len(text) {
		text = "…" + strings.ToValidUTF8(text[at-before:], "")
	}
	return cut(text, longest)
}

// way gives the names on a pointer that a reader knows.
func way(pointer string) []string {
	tokens, _ := jsonpointer.Tokens(pointer)
	var list []string
	for i, token := range tokens {
		switch token {
		case "properties", "schema", "content", "items", "allOf", "oneOf", "anyOf", "payload", "patternProperties":
			if i == 0 || tokens[i-1] != "properties" {
				continue
			}
		}
		list = append(list, token)
	}
	return list
}
