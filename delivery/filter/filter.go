// Package filter reads and applies the filters of a subscription, in the dialects exact, prefix, suffix, all, any and not
// of the CNCF Subscriptions API (CE-80, OPEN-11).
//
// A subscription has a list of filters; an event matches when every one of them does, and an empty list matches
// everything. A filter looks at context attributes only, never at the data. An attribute that an event does not have
// matches no exact, prefix or suffix.
package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of the filters of one subscription, so that matching stays cheap.
const (
	maxBytes = 16 << 10
	maxNodes = 200
	maxDepth = 10
)

// Attribute returns the value of a context attribute in its canonical string form, and whether the event has it.
type Attribute func(name string) (string, bool)

// Filter is a compiled list of filters. The zero Filter matches everything.
type Filter struct{ root all }

type node interface {
	match(get Attribute) bool
	words(within bool) string
}

// Match reports whether an event passes.
func (f Filter) Match(get Attribute) bool { return f.root.match(get) }

// Everything reports whether the filter lets every event pass.
func (f Filter) Everything() bool { return len(f.root) == 0 }

// Exact returns the one value that an attribute must have for any event to pass, if there is one. It makes an index possible,
// so that a hundred thousand subscriptions to single subjects are not evaluated one by one.
func (f Filter) Exact(attribute string) (string, bool) { return f.root.exact(attribute) }

// Error reports a problem in a filter and its place.
type Error struct {
	Pointer string // RFC 6901, within the list of filters
	Detail  string // the problem, and its correction
}

// Error implements error.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return "filter at " + e.Pointer + ": " + e.Detail
}

// Check returns the first problem of a JSON list of filters as an *Error.
func Check(list string) error {
	_, err := Parse([]byte(list))
	return err
}

// Parse reads a JSON list of filters; nothing, null or [] lets everything pass. An error is an *Error.
func Parse(raw []byte) (Filter, error) {
	if raw = bytes.Trim(raw, " \t\r\n"); len(raw) == 0 {
		return Filter{}, nil
	}
	if len(raw) > maxBytes {
		return Filter{}, &Error{Pointer: "", Detail: fmt.Sprintf("the filters take %d bytes; %d are allowed", len(raw), maxBytes)}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return Filter{}, &Error{Pointer: "", Detail: `the filters must be a JSON list such as [{"exact":{"subject":"4711"}}]`}
	}
	p := parser{}
	nodes, err := p.list(list, "", 1)
	return Filter{root: nodes}, err
}

type parser struct{ nodes int }

func (p *parser) list(list []json.RawMessage, at string, depth int) (all, error) {
	var nodes all
	for i, raw := range list {
		n, err := p.filter(raw, fmt.Sprintf("%s/%d", at, i), depth)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// filter reads one filter: an object with exactly one dialect.
func (p *parser) filter(raw json.RawMessage, at string, depth int) (node, error) {
	if p.nodes++; p.nodes > maxNodes || depth > maxDepth {
		return nil, &Error{at, fmt.Sprintf("there are more than %d filters, or they nest deeper than %d", maxNodes, maxDepth)}
	}
	members, err := object(raw)
	if err != nil || len(members) != 1 {
		return nil, &Error{at, `a filter is an object with one of "exact", "prefix", "suffix", "all", "any", "not"`}
	}
	name, value := members[0].name, members[0].value
	at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	switch name {
	case "exact", "prefix", "suffix":
		return p.comparison(name, value, at)
	case "all", "any":
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil || len(list) == 0 {
			return nil, &Error{at, "it needs a list of at least one filter"}
		}
		nodes, err := p.list(list, at, depth+1)
		if name == "any" {
			return anyOf(nodes), err
		}
		return nodes, err
	case "not":
		n, err := p.filter(value, at, depth+1)
		return not{n}, err
	}
	return nil, &Error{at, `this dialect is not known; use "exact", "prefix", "suffix", "all", "any" or "not"`}
}

// comparison reads {"attribute": "text", …}; every attribute named must match.
func (p *parser) comparison(kind string, raw json.RawMessage, at string) (node, error) {
	members, err := object(raw)
	if err != nil || len(members) == 0 {
		return nil, &Error{at, `it needs an object of attributes and texts, such as {"type":"nl.example.v1"}`}
	}
	var nodes all
	for _, m := range members {
		if p.nodes++; p.nodes > maxNodes {
			return nil, &Error{at, fmt.Sprintf("there are more than %d comparisons", maxNodes)}
		}
		if !attributeName(m.name) {
			return nil, &Error{at, fmt.Sprintf("%q is no attribute: names are lower-case letters and digits, and data cannot be filtered on", m.name)}
		}
		var text string
		if err := json.Unmarshal(m.value, &text); err != nil || text == "" {
			return nil, &Error{at + "/" + m.name, "the value must be a text that is not empty"}
		}
		nodes = append(nodes, comparison{kind, m.name, text})
	}
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	return nodes, nil
}

func attributeName(s string) bool {
	outside := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	return s != "" && s != "data" && !strings.ContainsFunc(s, outside)
}

type member struct {
	name  string
	value json.RawMessage
}

// object reads an object in order and rejects a name that occurs twice, which encoding/json would let pass.
func object(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		m := member{name.(string), value}
		if slices.ContainsFunc(members, func(o member) bool { return o.name == m.name }) {
			return nil, fmt.Errorf("%q occurs twice", m.name)
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return members, nil
}

// all matches when every filter in it does.
type all []node

func (n all) match(get Attribute) bool {
	for _, x := range n {
		if !x.match(get) {
			return false
		}
	}
	return true
}

// exact finds a comparison that any event must pass.
func (n all) exact(attribute string) (string, bool) {
	for _, x := range n {
		switch x := x.(type) {
		case comparison:
			if x.kind == "exact" && x.attribute == attribute {
				return x.text, true
			}
		case all:
			if value, ok := x.exact(attribute); ok {
				return value, true
			}
		}
	}
	return "", false
}

// anyOf matches when one filter in it does.
type anyOf []node

func (n anyOf) match(get Attribute) bool {
	for _, x := range n {
		if x.match(get) {
			return true
		}
	}
	return false
}

// not matches when its filter does not.
type not struct{ node }

func (n not) match(get Attribute) bool { return !n.node.match(get) }

// comparison compares one attribute with a text, byte for byte.
type comparison struct{ kind, attribute, text string }

func (c comparison) match(get Attribute) bool {
	value, ok := get(c.attribute)
	if !ok {
		return false
	}
	switch c.kind {
	case "prefix":
		return strings.HasPrefix(value, c.text)
	case "suffix":
		return strings.HasSuffix(value, c.text)
	}
	return value == c.text
}

// Words writes each filter of the list in English, such as: subject begins with “47”. An event must pass them all. The
// subscriber's texts stand in it unchanged.
func (f Filter) Words() []string {
	words := make([]string, len(f.root))
	for i, n := range f.root {
		words[i] = n.words(false)
	}
	return words
}

// words of a filter within another are put in brackets when they are several.
func (n all) words(within bool) string { return joined(n, " and ", within) }

func (n anyOf) words(within bool) string { return joined(n, " or ", within) }

func joined(nodes []node, with string, within bool) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = n.words(len(nodes) > 1)
	}
	text := strings.Join(parts, with)
	if within && len(nodes) > 1 {
		return "(" + text + ")"
	}
	return text
}

func (n not) words(bool) string {
	if c, ok := n.node.(comparison); ok {
		return c.phrase(true)
	}
	return "not (" + n.node.words(false) + ")"
}

func (c comparison) words(bool) string { return c.phrase(false) }

func (c comparison) phrase(negated bool) string {
	verb := map[string][2]string{
		"exact":  {"is", "is not"},
		"prefix": {"begins with", "does not begin with"},
		"suffix": {"ends with", "does not end with"},
	}[c.kind]
	if negated {
		return c.attribute + " " + verb[1] + " “" + c.text + "”"
	}
	return c.attribute + " " + verb[0] + " “" + c.text + "”"
}
