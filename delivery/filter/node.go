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
