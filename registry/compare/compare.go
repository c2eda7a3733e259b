package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"schakel/registry/jsonpointer"

	"schakel/registry/contract"
)

// maxTime is how long one comparison may take.
const maxTime = 30 * time.Second

// Documents compares two versions of a contract and gives the changes, breaking ones first, then by cause and place. None
// means that the documents say the same, however they are written. The documents need not be valid, but what is wrongly
// written may be passed over. The error is [ErrTooLarge] for documents beyond the bounds, and otherwise says what
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
	p := newPair(old, new)
	if old.Kind == contract.OpenAPI {
		p.openAPI()
	} else {
		p.asyncAPI(old, new)
	}
	p.documentation()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	judged, err := p.judge(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare contracts: %w", err)
	}
	p.references()
	changes := append(p.merged(), newTranslator(p, judged).changes()...)
	for i := range changes {
		p.settle(&changes[i])
	}
	order(changes)
	return changes, nil
}

// settle makes the pointer of a change one that exists: what is absent is told of where it would stand.
func (p *pair) settle(c *Change) {
	root := p.new.root
	if c.Removed {
		root = p.old.root
	}
	for c.Pointer != "" {
		if _, ok := jsonpointer.Lookup(root, c.Pointer); ok {
			return
		}
		c.Pointer = c.Pointer[:strings.LastIndexByte(c.Pointer, '/')]
	}
}

func newPair(old, new *contract.Document) *pair {
	p := &pair{old: newCopier(newReader(old)), new: newCopier(newReader(new)), parts: map[string]part{}, types: map[string]bool{}}
	p.old.other, p.new.other = p.new.root, p.old.root
	return p
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

// references tells of references that were not followed and are not the same in both documents.
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
