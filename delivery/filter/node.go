package filter

import "strings"

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
