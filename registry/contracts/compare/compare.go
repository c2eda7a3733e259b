package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry/jsonpointer"

	"schakel/registry/contracts/contract"
)

// maxTime bounds one comparison.
const maxTime = 30 * time.Second

// Documents compares two versions of a contract and gives the changes, breaking ones first, then by cause and place. None
// means that the documents say the same, however they are written. The documents need not be valid, but what is wrongly
// written may be passed over. The error is [ErrTooLarge] for documents beyond the bounds, and otherwise names what
// could not be read.
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
		Subject: "the document", Subjects: []string{"the document"},
		Text: fmt.Sprintf("The contract was %s and is now %s.", old.Kind, new.Kind),
		Why:  "The two describe different ways of exchange, so nothing of the old version can be held against the new one.",
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
			Level: Warning, Code: "reference-outside-added", Pointer: at, Subjects: []string{"the document"},
			Text: fmt.Sprintf("A reference to %s was added, which lies outside the document.", quote(ref)),
			Why:  "References are never fetched, so what stands there was not compared; look at it.", Side: SideBoth,
		}
		if before {
			c.Code, c.Pointer, c.Removed = "reference-outside-removed", p.old.outside[ref], true
			c.Text = fmt.Sprintf("A reference to %s was removed, which lies outside the document.", quote(ref))
		}
		p.add(c)
	}
}
