package compare

import (
	"context"
	"errors"
	"strings"
)

// ErrTooLarge is given for documents that take more work to compare than is allowed.
var ErrTooLarge = errors.New("the documents are too large or too entangled to compare")

// maxNodes bounds the pairs of schemas that are looked at, each time that they are.
const maxNodes = 20_000_000

// media gives the format in which a value is written, which decides the keywords that count.
type media int

const (
	inJSON media = iota
	inText       // parameters, headers and forms: a number is written as a text is
	inXML
)

// effect classifies what a difference does to the values that are allowed.
type effect int

const (
	narrower effect = iota // fewer values
	wider                  // more values
	other                  // other values
	unclear                // it cannot be told
	nothing                // no other values
)

// level weighs an effect: what is read must not get wider, what is sent must not get narrower.
func (e effect) level(read bool) Level {
	switch {
	case e == nothing:
		return Info
	case e == unclear:
		return Warning
	case e == other, e == wider && read, e == narrower && !read:
		return Breaking
	}
	return Info
}

// difference is one difference between two schemas, wherever they are met.
type difference struct {
	level Level
	// code is the end of a change's code. The code of one about a value itself starts with "-"; its beginning depends on
	// where the value stands.
	code string
	// text describes the change, without the end of its sentence.
	text, why phrase
	// name is the property that is meant, value the listed value that came or went.
	name, value string
	// was and is are pointers in the old and the new document; one of them is empty for what came or went.
	was, is string
}

// node is a pair of schemas with what differs between them, for one direction.
type node struct {
	found []difference
	edges []edge
	above []*node
	dirty bool // something differs here or below
}

// edge leads to schemas within schemas, by the name that people know the place by.
type edge struct {
	name string
	to   *node
}

type nodeKey struct {
	old, new string
	read     bool
	in       media
}

// comparer compares pairs of schemas, each once for each direction.
type comparer struct {
	ctx   context.Context
	nodes map[nodeKey]*node
	left  int
	err   error
}

func newComparer(ctx context.Context) *comparer {
	return &comparer{ctx: ctx, nodes: map[nodeKey]*node{}, left: maxNodes}
}

// spend reports whether there is time and room to go on.
func (k *comparer) spend() bool {
	if k.left--; k.left < 0 && k.err == nil {
		k.err = ErrTooLarge
	}
	if k.left%1024 == 0 && k.ctx.Err() != nil && k.err == nil {
		k.err = errors.Join(ErrTooLarge, k.ctx.Err())
	}
	return k.err == nil
}

// schemas compares two bundles.
func (k *comparer) schemas(old, new *bundle, read bool, in media) *node {
	key := nodeKey{old.key, new.key, read, in}
	if known := k.nodes[key]; known != nil {
		return known
	}
	n := &node{}
	if !k.spend() {
		return n
	}
	k.nodes[key] = n
	c := &comparison{comparer: k, node: n, old: old, new: new, was: old.view(), is: new.view(), read: read, in: in}
	c.run()
	return n
}

// comparison is the work on one pair.
type comparison struct {
	*comparer
	node     *node
	old, new *bundle
	was, is  *view
	read     bool
	in       media
}

func (c *comparison) run() {
	switch {
	case c.old.never != "" && c.new.never != "":
		return
	case c.new.never != "":
		c.report(narrower, "-schema-became-false", say("changes.no-value", theValueFirst), c.old.at, c.new.never)
		return
	case c.old.never != "":
		c.report(wider, "-schema-no-longer-false", say("changes.a-value", theValueFirst), c.old.never, c.new.at)
		return
	}
	if c.outside() || c.unions() {
		return
	}
	c.kinds()
	c.values()
	c.ranges()
	c.texts()
	c.marks()
	c.object()
	c.array()
	c.conditions()
	c.discriminators()
	c.xml()
}

// report notes a difference in the values that are allowed.
func (c *comparison) report(e effect, code string, text phrase, was, is string) {
	c.note(difference{level: e.level(c.read), code: code, text: text, why: e.why(c.read), was: was, is: is})
}

func (c *comparison) note(d difference) { c.node.found = append(c.node.found, d) }

// why explains an effect to the parties who are bound.
func (e effect) why(read bool) phrase {
	level := e.level(read)
	switch {
	case e == nothing:
		return say("changes.nothing-why", theBound)
	case level == Warning:
		return say("changes.unclear-why", theBound)
	case level == Info && read:
		return say("changes.still-fits-why", theBound)
	case level == Info:
		return say("changes.still-allowed-why", theBound)
	case read:
		return say("changes.wider-why", theBoundFirst)
	}
	return say("changes.narrower-why", theBoundFirst)
}

// below compares schemas within these ones.
func (c *comparison) below(name string, old, new *bundle) {
	c.link(name, c.schemas(old, new, c.read, c.in))
}

func (c *comparison) link(name string, to *node) {
	c.node.edges = append(c.node.edges, edge{name, to})
	to.above = append(to.above, c.node)
}

// worst gives the weightiest level at a node and below it, empty for none.
func (k *comparer) worst(n *node) Level {
	var level Level
	met, queue := map[*node]bool{n: true}, []*node{n}
	for len(queue) > 0 && level != Breaking && k.spend() {
		n = queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, d := range n.found {
			if rank(d.level) < rank(level) {
				level = d.level
			}
		}
		for _, e := range n.edges {
			if !met[e.to] {
				met[e.to] = true
				queue = append(queue, e.to)
			}
		}
	}
	return level
}

// mild reports whether nothing at a node or below it may harm.
func (k *comparer) mild(n *node) bool { return rank(k.worst(n)) > rank(Warning) }

// spread marks the nodes that lead to a difference.
func (k *comparer) spread() {
	var queue []*node
	for _, n := range k.nodes {
		if len(n.found) > 0 {
			n.dirty = true
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, above := range n.above {
			if !above.dirty {
				above.dirty = true
				queue = append(queue, above)
			}
		}
	}
}

// either gives the first pointer that is not empty.
func either(pointers ...string) string {
	for _, pointer := range pointers {
		if pointer != "" {
			return pointer
		}
	}
	return ""
}

// words writes the name of a keyword as codes do: max-length for maxLength.
func words(keyword string) string {
	var made strings.Builder
	for _, r := range keyword {
		if r >= 'A' && r <= 'Z' {
			made.WriteByte('-')
			r += 'a' - 'A'
		}
		made.WriteRune(r)
	}
	return strings.TrimPrefix(made.String(), "$")
}
