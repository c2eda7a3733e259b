package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Simple is a filter that compares one attribute, as a form can show it.
type Simple struct {
	Attribute string
	Dialect   string // exact, prefix or suffix
	Text      string
	Not       bool
}

// JSON writes the filter. It is not checked.
func (s Simple) JSON() string {
	text := `{` + quoted(s.Dialect) + `:{` + quoted(s.Attribute) + `:` + quoted(s.Text) + `}}`
	if s.Not {
		return `{"not":` + text + `}`
	}
	return text
}

// quoted writes a JSON string, with < and > as they are.
func quoted(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return `""` // a string can always be written
	}
	return strings.TrimSpace(b.String())
}

// Join writes simple filters and a JSON list of others as one list, the simple ones first. The list must have passed
// [Parse]; nothing at all gives nothing.
func Join(simple []Simple, others string) (string, error) {
	var list []json.RawMessage
	if strings.TrimSpace(others) != "" {
		if err := json.Unmarshal([]byte(others), &list); err != nil {
			return "", fmt.Errorf("read filters: %w", err)
		}
	}
	var parts []string
	for _, s := range simple {
		parts = append(parts, s.JSON())
	}
	for _, raw := range list {
		parts = append(parts, string(raw))
	}
	if len(parts) == 0 {
		return "", nil
	}
	return "[" + strings.Join(parts, ",") + "]", nil
}

// Split splits a list into the simple filters in it and a JSON list of the others, empty when there are none. Joined again
// they let the same events pass. An error is an *Error.
func Split(raw []byte) (simple []Simple, others string, err error) {
	f, err := Parse(raw)
	if err != nil || f.Everything() {
		return nil, "", err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, "", fmt.Errorf("read filters: %w", err)
	}
	var rest []string
	for i, n := range f.root {
		if found := simpleOf(n); found != nil {
			simple = append(simple, found...)
		} else {
			rest = append(rest, string(list[i]))
		}
	}
	if rest == nil {
		return simple, "", nil
	}
	return simple, "[" + strings.Join(rest, ",") + "]", nil
}

// simpleOf returns the parts of a filter when all of them are simple.
func simpleOf(n node) []Simple {
	switch n := n.(type) {
	case comparison:
		return []Simple{{Attribute: n.attribute, Dialect: n.kind, Text: n.text}}
	case not:
		if c, ok := n.node.(comparison); ok {
			return []Simple{{Attribute: c.attribute, Dialect: c.kind, Text: c.text, Not: true}}
		}
	case all:
		var list []Simple
		for _, part := range n {
			found := simpleOf(part)
			if found == nil {
				return nil
			}
			list = append(list, found...)
		}
		return list
	}
	return nil
}
