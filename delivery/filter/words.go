package filter

import "strings"

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
