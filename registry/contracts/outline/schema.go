package outline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"schakel/registry/contracts/compare"
	"schakel/templates/i18n"
)

// Node is a value of a schema: a property, an item, or one of several choices. Its schema and those it has to fit besides, by
// reference or allOf, are taken as one.
type Node struct {
	Name   string       // as it stands in data; empty for the whole and for choices
	Label  i18n.Message // stands in place of a name
	Anchor string
	Type   i18n.Message
	// Ref is the pointer of the shared schema that describes it, RefName its name.
	Ref, RefName                              string
	Required, Deprecated, ReadOnly, WriteOnly bool
	Text                                      string         // Markdown
	Rules                                     []i18n.Message // such as at most 20 characters
	Pointers                                  []string       // the places in the document that describe it
	Children                                  []*Node
	// More is set when there is more than is shown; Again when that is because it lies within itself.
	More, Again bool
}

// Uses of a schema: what is only read is not asked for in a request.
type use int

const (
	readAndWritten use = iota
	read
	written
)

func (u use) direction() string {
	switch u {
	case read:
		return compare.DirectionRead
	case written:
		return compare.DirectionSent
	}
	return ""
}

const (
	maxDepth      = 10
	maxRefDepth   = 2   // shared schemas within each other that are expanded
	maxNodes      = 250 // of a schema
	maxPageNodes  = 1_500
	maxParts      = 60 // schemas that one value has to fit
	maxNodeMarkup = 4_000
)

// builder makes the details of the entries of a page.
type builder struct {
	doc    *document
	anchor string  // of the entry
	taken  anchors // within the entry
	nodes  int     // that the page may still have
}

func (b *builder) anchorOf(name string) string { return b.taken.of(b.anchor + "." + name) }

// chain is the way of shared schemas that led to a node.
type chain struct {
	ref string
	up  *chain
}

func (c *chain) has(ref string) bool {
	for ; c != nil; c = c.up {
		if c.ref == ref {
			return true
		}
	}
	return false
}

func (c *chain) length() (n int) {
	for ; c != nil; c = c.up {
		n++
	}
	return n
}

// pending is a node whose children are still to be made.
type pending struct {
	node  *Node
	parts []spot
	refs  *chain
	depth int
}

// schema makes the tree of a schema, the levels near the top first, so that its bound cuts off what lies deepest.
func (b *builder) schema(at spot, anchor string, in use) *Node {
	whole := &Node{Anchor: anchor}
	left := maxNodes
	var refs *chain
	if shared(at.at) != "" {
		refs = &chain{ref: at.at}
	}
	queue := []pending{b.fill(whole, at, refs, 0)}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		if p.parts == nil {
			continue
		}
		for _, c := range b.children(p, in) {
			if left--; left < 0 || b.nodes <= 0 {
				p.node.More = true
				break
			}
			b.nodes--
			node := c.node
			node.Anchor = b.anchorOf(strings.TrimPrefix(strings.TrimPrefix(p.node.Anchor, b.anchor)+"."+slug(cmp.Or(node.Name, node.Label.String())), "."))
			p.node.Children = append(p.node.Children, node)
			queue = append(queue, b.fill(node, c.at, p.refs, p.depth+1))
		}
	}
	return whole
}

// fill takes what the schemas of a node say, and leaves its children for later.
func (b *builder) fill(n *Node, at spot, refs *chain, depth int) pending {
	own, ref := b.parts(at)
	inner := b.items(own)
	if ref == "" && len(inner) > 0 {
		_, ref = b.parts(inner[0])
	}
	b.describe(n, own, inner)
	parts := append(own, inner...)
	for _, p := range parts {
		n.Pointers = append(n.Pointers, p.at)
	}
	if name := shared(ref); name != "" {
		n.Ref, n.RefName = ref, name
	}
	p := pending{node: n, parts: parts, refs: refs, depth: depth}
	switch {
	case ref == "" && depth <= maxDepth:
		return p
	case ref != "" && refs.has(ref):
		n.Again = true
	case ref != "" && depth <= maxDepth && refs.length() < maxRefDepth && b.nodes > 0:
		p.refs = &chain{ref, refs}
		return p
	}
	n.More = hasChildren(parts)
	return pending{}
}

// parts collects the schemas that a value has to fit: itself, what it refers to, and the parts of its allOf. The ref is the
// reference that it is, also as the only one of an allOf, as OpenAPI 3.0 puts descriptions beside references.
func (b *builder) parts(at spot) (list []spot, ref string) {
	seen := map[string]bool{}
	var add func(s spot, depth int)
	add = func(s spot, depth int) {
		if len(list) >= maxParts || depth > maxHops || seen[s.at] || s.object() == nil {
			return
		}
		seen[s.at] = true
		list = append(list, s)
		if s.get("$ref").there() {
			target, to := b.doc.follow(spot{map[string]any{"$ref": s.object()["$ref"]}, s.at})
			if ref == "" && depth == 0 {
				ref = to
			}
			add(target, depth+1)
		}
		for _, part := range s.get("allOf").items() {
			add(part, depth+1)
		}
	}
	add(at, 0)
	if all := at.get("allOf").items(); ref == "" && len(all) == 1 && !at.get("properties").there() {
		_, ref = b.doc.follow(all[0])
	}
	return list, ref
}

// items collects the schemas of the items of a list, which are described with it; none for a list that is more than that.
func (b *builder) items(own []spot) []spot {
	var inner []spot
	seen := map[string]bool{}
	for i := 0; i < len(own)+len(inner) && len(inner) < maxParts; i++ {
		p := append(own[:len(own):len(own)], inner...)[i]
		if p.get("prefixItems").there() || p.get("properties").there() {
			return inner
		}
		if items := p.get("items"); items.object() != nil && !seen[items.at] {
			seen[items.at] = true
			found, _ := b.parts(items)
			inner = append(inner, found...)
		}
	}
	return inner
}

func hasChildren(parts []spot) bool {
	return slices.ContainsFunc(parts, func(p spot) bool {
		for _, key := range []string{"properties", "patternProperties", "oneOf", "anyOf", "prefixItems", "not", "if"} {
			if p.get(key).there() {
				return true
			}
		}
		return p.get("additionalProperties").object() != nil
	})
}

// child is a node below another, with its schema.
type child struct {
	node *Node
	at   spot
}

func (b *builder) children(p pending, in use) []child {
	var list []child
	required, at := b.required(p.parts), map[string]int{}
	for _, part := range p.parts {
		for _, key := range []string{"properties", "patternProperties"} {
			members := part.get(key)
			for _, name := range b.doc.names(members)[:min(len(members.object()), maxNodes, len(b.doc.names(members)))] {
				if b.hidden(members.get(name), in) {
					continue
				}
				shown := name
				if key == "patternProperties" {
					shown = "/" + name + "/"
				}
				if i, twice := at[shown]; twice { // the later part says more of it
					list[i].node.Pointers = append(list[i].node.Pointers, members.get(name).at)
					continue
				}
				at[shown] = len(list)
				list = append(list, child{&Node{Name: shown, Required: required[name] && key == "properties"}, members.get(name)})
			}
		}
		if others := part.get("additionalProperties"); len(others.object()) > 0 {
			list = append(list, child{&Node{Label: "outline.other-properties"}, others})
		}
		for i, item := range part.get("prefixItems").items() {
			list = append(list, child{&Node{Name: "[" + strconv.Itoa(i) + "]"}, item})
		}
		list = append(list, b.choices(part)...)
	}
	return list
}

// choices are the schemas of which a value fits one, some, or none.
func (b *builder) choices(part spot) []child {
	var list []child
	for _, c := range []struct{ key, named, plain string }{
		{"oneOf", "outline.choice-one-named", "outline.choice-one"}, {"anyOf", "outline.choice-any-named", "outline.choice-any"},
	} {
		for i, item := range part.get(c.key).items() {
			target, ref := b.doc.follow(item)
			label := i18n.M(c.plain, i+1)
			if name := cmp.Or(target.text("title"), lastName(ref)); name != "" {
				label = i18n.M(c.named, name)
			}
			list = append(list, child{&Node{Label: label}, item})
		}
	}
	for _, c := range []struct {
		key   string
		label i18n.Message
	}{{"not", "outline.choice-not"}, {"if", "outline.choice-if"}, {"then", "outline.choice-then"}, {"else", "outline.choice-else"}, {"contains", "outline.choice-contains"}, {"propertyNames", "outline.choice-names"}} {
		if one := part.get(c.key); one.object() != nil {
			list = append(list, child{&Node{Label: c.label}, one})
		}
	}
	return list
}

// hidden leaves out what only the other side writes.
func (b *builder) hidden(s spot, in use) bool {
	target := b.doc.target(s)
	return in == written && target.is("readOnly") || in == read && target.is("writeOnly")
}

func (b *builder) required(parts []spot) map[string]bool {
	found := map[string]bool{}
	for _, p := range parts {
		for _, item := range p.get("required").items() {
			if name, ok := item.value.(string); ok {
				found[name] = true
			}
		}
	}
	return found
}

// describe takes the type, the rules and the text of a node, of a list those of its items too.
func (b *builder) describe(n *Node, own, inner []spot) {
	n.Type = b.typeOf(own)
	add := func(rule i18n.Message) {
		if !slices.Contains(n.Rules, rule) {
			n.Rules = append(n.Rules, rule)
		}
	}
	for _, p := range own {
		n.Text = cmp.Or(n.Text, cut(p.text("description"), maxNodeMarkup))
		n.Deprecated = n.Deprecated || p.is("deprecated")
		n.ReadOnly, n.WriteOnly = n.ReadOnly || p.is("readOnly"), n.WriteOnly || p.is("writeOnly")
		for _, rule := range b.rules(p) {
			add(rule)
		}
	}
	for _, p := range inner {
		n.Text = cmp.Or(n.Text, cut(p.text("description"), maxNodeMarkup))
		if format := p.text("format"); format != "" {
			add(i18n.M("outline.each", i18n.M("outline.rule-format", format)))
		}
		for _, rule := range b.rules(p) {
			add(i18n.M("outline.each", rule))
		}
	}
	if n.Text == "" && n.Label == "" && len(own) > 0 {
		n.Text = own[0].text("title")
	}
}
