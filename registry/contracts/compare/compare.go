package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"schakel/registry/contracts/contract"
	"schakel/registry/jsonpointer"
	"schakel/templates/i18n"
)

const maxTime = 30 * time.Second

// Documents compares two versions of a contract and gives the changes, breaking ones first, then by cause and place. None means
// that the documents say the same, however they are written. The documents need not be valid, but what is wrongly written may be
// passed over. The error is [ErrTooLarge] for documents beyond the bounds, and otherwise names what could not be read.
func Documents(old, new *contract.Document) ([]Change, error) { return within(maxTime, old, new) }

// within is Documents with another limit of time.
func within(limit time.Duration, old, new *contract.Document) ([]Change, error) {
	if old == nil || new == nil {
		return nil, errors.New("compare contracts: no document given")
	}
	if old.Kind != new.Kind {
		return []Change{otherKind(old, new)}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p := newPair(old, new)
	if old.Kind == contract.OpenAPI {
		p.openAPI()
	} else {
		p.asyncAPI(old, new)
	}
	p.documentation()
	k := newComparer(ctx)
	judged := p.judged(k)
	if k.err != nil {
		return nil, fmt.Errorf("compare contracts: %w", k.err)
	}
	p.references()
	changes := append(p.merged(), judged...)
	for i := range changes {
		p.settle(&changes[i])
	}
	order(changes)
	return changes, nil
}

// settle makes the pointers of a change ones that exist: what is absent is told of where it would stand.
func (p *pair) settle(c *Change) {
	root := p.new.root
	if c.Removed {
		root = p.old.root
	}
	c.Pointer = existing(root, c.Pointer)
	switch {
	case c.Removed && c.OldPointer == "":
		c.OldPointer = c.Pointer
	case !c.Removed && c.NewPointer == "":
		c.NewPointer = c.Pointer
	}
	if !c.Removed && c.OldPointer == "" && c.was() { // at the same place, where nothing else is known
		c.OldPointer = c.NewPointer
	}
	c.OldPointer, c.NewPointer = existing(p.old.root, c.OldPointer), existing(p.new.root, c.NewPointer)
}

// existing gives the pointer of the nearest part that there is.
func existing(root map[string]any, pointer string) string {
	for pointer != "" {
		if _, ok := jsonpointer.Lookup(root, pointer); ok {
			return pointer
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return pointer
}

func newPair(old, new *contract.Document) *pair {
	return &pair{old: newSource(newReader(old)), new: newSource(newReader(new)), types: map[string]bool{}}
}

// merged gives the changes of our own, those that many places share once.
func (p *pair) merged() []Change {
	m := newMerger()
	for _, c := range p.changes {
		if c.Cause == "" && c.Code != documentationChanged {
			c.Cause = causeOf(c.Pointer)
		}
		if c.Side == "" {
			c.Side = SideConsumer
		}
		m.add(c, c.Text)
	}
	return m.changes()
}

func otherKind(old, new *contract.Document) Change {
	return Change{
		Level: Breaking, Code: "kind-changed", Pointer: "/" + string(new.Kind), Side: SideBoth, Cause: "/" + string(new.Kind),
		Subject: "changes.subject-document", Subjects: []i18n.Message{"changes.subject-document"},
		Text: i18n.M("changes.kind", string(old.Kind), string(new.Kind)),
		Why:  "changes.kind-why",
	}
}

// references reports references that were not followed and differ between the documents.
func (p *pair) references() {
	for _, ref := range unionKeys(p.old.outside, p.new.outside) {
		_, before := p.old.outside[ref]
		at, after := p.new.outside[ref]
		if before == after {
			continue
		}
		c := Change{
			Level: Warning, Code: "reference-outside-added", Pointer: at, Subjects: []i18n.Message{"changes.subject-document"},
			Text: i18n.M("changes.outside-added", quote(ref)), Why: "changes.outside-why", Side: SideBoth,
		}
		if before {
			c.Code, c.Pointer, c.Removed = "reference-outside-removed", p.old.outside[ref], true
			c.Text = i18n.M("changes.outside-removed", quote(ref))
		}
		p.add(c)
	}
}

// root is a place where values are sent or read, such as the body of a request: it decides what a difference of schemas means
// there.
type root struct {
	read    bool
	side    string
	subject i18n.Message
	types   []string
	in      media
	// prefix begins the codes of changes: request, response, payload, headers, request-parameter, response-header.
	prefix string
	// it names the value in texts, such as the body.
	it noun
	// tail ends the texts, where the same is said for each status; short ends them where it is met at several.
	tail, short ending
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
	return t.types[d.value]
}

// change gives a change and the text that it has wherever it is met.
func (t *reporter) change(d difference, path []string) (c Change, short i18n.Message) {
	r := t.root
	c = Change{
		Level: d.level, Code: r.code(d, len(path) > 0), Side: r.side, Subjects: []i18n.Message{r.subject}, EventTypes: r.types,
		OldPointer: d.was, NewPointer: d.is, Direction: DirectionSent, Why: d.why.message(r.wording(d, path)),
	}
	if r.read {
		c.Direction = DirectionRead
	}
	c.Pointer = d.is
	if c.Pointer == "" {
		c.Pointer, c.Removed = d.was, true
	}
	c.Cause = causeOf(c.Pointer)
	c.Text = r.tail.of(d.text.message(r.wording(d, path)))
	switch {
	case d.name != "":
		path = nil
	case len(path) > 1:
		path = path[len(path)-1:]
	}
	return c, r.short.of(d.text.message(r.wording(d, path)))
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

// wording gives the words for the texts of a difference, by the path to the value that differs.
func (r root) wording(d difference, path []string) wording {
	member := propertyNoun
	if r.prefix == "headers" {
		member = headerNoun
	}
	ofIt := func(n noun) noun {
		if strings.Contains(r.prefix, "-") {
			return n.of(r.it)
		}
		return n
	}
	w := r.it.wording()
	if len(path) > 0 {
		of := ofIt(member(shown(path)))
		w[theValue], w[theValueFirst] = of.inside, of.first
	}
	of := ofIt(member(shown(append(slices.Clip(path), d.name))))
	w[theName], w[theNameFirst] = of.bare, of.first
	if r.prefix == "payload" || r.prefix == "headers" {
		w[theBound], w[theBoundFirst] = "changes.senders", "changes.senders-first"
		if r.read {
			w[theBound], w[theBoundFirst] = "changes.consumers", "changes.consumers-first"
		}
	}
	return w
}

// shown writes the way to a property for people.
func shown(path []string) string { return strings.Join(path, "/") }
