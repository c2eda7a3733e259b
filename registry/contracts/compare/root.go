package compare

import (
	"errors"
	"slices"
	"strings"
)

// root is a place where values are sent or read, such as the body of a request: it decides what a difference of schemas means
// there.
type root struct {
	read    bool
	side    string
	subject string
	types   []string
	in      media
	// prefix begins the codes of changes: request, response, payload, headers, request-parameter, response-header.
	prefix string
	// it names the value in texts, such as "the body".
	it string
	// tail ends the texts, where the same is said for each status; short ends them where it is met at several.
	tail, short string
}

// asked is a root with the schemas that are compared for it.
type asked struct {
	root
	old, new schemaAt
}

// judge asks for schemas to be compared.
func (p *pair) judge(r root, old, new schemaAt) {
	if r.side == "" {
		r.side = SideConsumer
	}
	p.asked = append(p.asked, asked{r, old, new})
}

// judged compares all that was asked for and gives the changes, what several places share brought together.
func (p *pair) judged(k *comparer) []Change {
	if k.ctx.Err() != nil {
		k.err = errors.Join(ErrTooLarge, k.ctx.Err())
	}
	starts := make([]*node, 0, len(p.asked))
	for _, a := range p.asked {
		starts = append(starts, k.schemas(p.old.bundle(a.old), p.new.bundle(a.new), a.read, a.in))
	}
	k.spread()
	t := &reporter{comparer: k, merger: newMerger(), types: p.types}
	for i, a := range p.asked {
		t.root = a.root
		t.report(starts[i])
	}
	return t.merger.changes()
}

// reporter turns differences of schemas into changes.
type reporter struct {
	*comparer
	*merger
	root  root
	types map[string]bool
}

// passage is a node with the way that led to it.
type passage struct {
	node *node
	name string
	from *passage
}

// path gives the names on the way.
func (s *passage) path() []string {
	var list []string
	for ; s.from != nil; s = s.from {
		list = append(list, s.name)
	}
	slices.Reverse(list)
	return list
}

// report notes all that differs at a node and below it, each by the shortest path.
func (t *reporter) report(start *node) {
	met, queue := map[*node]bool{start: true}, []*passage{{node: start}}
	for len(queue) > 0 && t.spend() {
		at := queue[0]
		queue = queue[1:]
		if !at.node.dirty {
			continue
		}
		for _, d := range at.node.found {
			if !t.ofEventType(d) {
				t.add(t.change(d, at.path()))
			}
		}
		for _, e := range at.node.edges {
			if e.to.dirty && !met[e.to] {
				met[e.to] = true
				queue = append(queue, &passage{e.to, e.name, at})
			}
		}
	}
}

// ofEventType reports whether a difference is that a message lists another event type, which is told of already: who
// subscribed to one type does not meet the others.
func (t *reporter) ofEventType(d difference) bool {
	if len(t.root.types) == 0 || !strings.HasPrefix(d.code, "-enum-value-") {
		return false
	}
	_, rest, _ := strings.Cut(d.text, "`")
	value, _, _ := strings.Cut(rest, "`")
	return t.types[value]
}

// change gives a change and the text that it has wherever it is met.
func (t *reporter) change(d difference, path []string) (c Change, short string) {
	r := t.root
	c = Change{
		Level: d.level, Code: r.code(d, len(path) > 0), Side: r.side, Subjects: []string{r.subject}, EventTypes: r.types,
		OldPointer: d.was, NewPointer: d.is, Direction: DirectionSent, Why: r.who(d.why),
	}
	if r.read {
		c.Direction = DirectionRead
	}
	c.Pointer = d.is
	if c.Pointer == "" {
		c.Pointer, c.Removed = d.was, true
	}
	c.Cause = causeOf(c.Pointer)
	c.Text = r.say(d, path) + r.tail + "."
	switch {
	case d.name != "":
		path = nil
	case len(path) > 1:
		path = path[len(path)-1:]
	}
	return c, r.say(d, path) + r.short + "."
}

// code gives the whole code of a change.
func (r root) code(d difference, nested bool) string {
	rest, ofValue := strings.CutPrefix(d.code, "-")
	switch {
	case r.prefix == "request" && (d.code == "required-property-added" || d.code == "optional-property-added"):
		return "new-" + strings.Replace(strings.TrimSuffix(d.code, "-added"), "-property", "-request-property", 1)
	case !ofValue:
		return r.prefix + "-" + rest
	case nested:
		return r.prefix + "-property-" + rest
	case strings.Contains(r.prefix, "-"):
		return r.prefix + "-" + rest
	}
	return r.prefix + "-body-" + rest
}

// who puts those who are bound into a text.
func (r root) who(text string) string {
	who := "Clients"
	if r.prefix == "payload" || r.prefix == "headers" {
		who = "Senders"
		if r.read {
			who = "Consumers"
		}
	}
	if strings.HasPrefix(text, "{who}") {
		return who + strings.TrimPrefix(text, "{who}")
	}
	return strings.ReplaceAll(text, "{who}", strings.ToLower(who[:1])+who[1:])
}

// say gives the text of a difference, without its end.
func (r root) say(d difference, path []string) string {
	word := "property "
	if r.prefix == "headers" {
		word = "header "
	}
	of := ""
	if strings.Contains(r.prefix, "-") {
		of = " of " + r.it
	}
	it := r.it
	if len(path) > 0 {
		it = "the " + word + quote(shown(path)) + of
	}
	name := word + quote(shown(append(slices.Clip(path), d.name))) + of
	said := strings.NewReplacer("{It}", strings.ToUpper(it[:1])+it[1:], "{it}", it, "{name}", name).Replace(d.text)
	return said
}

// shown writes the way to a property for people.
func shown(path []string) string { return strings.Join(path, "/") }
