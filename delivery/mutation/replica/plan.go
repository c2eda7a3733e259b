package replica

import (
	"errors"
	"fmt"
	"slices"

	"schakel/delivery/mutation/format"
)

// plan works through groups in memory, on the states of the copy that they refer to, and so finds what to write. It writes
// nothing itself, so that a plan can be thrown away at a group that cannot be taken.
type plan struct {
	o       *Options
	area    Area
	initial bool // the copy is being made: no state is looked up
	replay  bool // what the groups do may have been done before (MUT-36)
	live    map[string][]*entry
	tombs   map[objectKey]bool // objects that left the area before
	body    func(row int64) (*entry, error)

	doubts     *doubts // nil: there are none
	inserts    []*entry
	deletes    []int64
	left       map[objectKey]bool // objects to remember: true when they left, false when they came back
	counts     Counts
	mismatches []Mismatch
	reinit     string // why the copy must be rebuilt after this delivery
}

// objectKey names an object.
type objectKey struct{ objectType, objectID string }

// take goes through groups in order. An error that is not a *stop ends everything; a *stop says which group cannot be taken.
func (p *plan) take(units []unit) error {
	for i := range units {
		for j := range units[i].items {
			it := &units[i].items[j]
			if err := p.mutation(it); err != nil {
				if _, internal := errors.AsType[*databaseError](err); internal {
					return err
				}
				return &stop{unit: i, line: it.Line, err: err}
			}
		}
		p.counts.Groups++
	}
	return nil
}

// stop is why a group cannot be taken.
type stop struct {
	unit, line int
	err        error
}

func (s *stop) Error() string { return s.err.Error() }
func (s *stop) Unwrap() error { return s.err }

func (p *plan) mutation(it *item) error {
	kind := it.Kind()
	switch {
	case it.err != nil:
		return it.err
	case kind == 0:
		return fault(ErrRefused, "a mutation without was and wordt")
	case p.initial && kind != format.Add:
		return fault(ErrRefused, "a %s in an initial delivery (MUT-31)", kind)
	case kind == format.Change && p.o.Match.byID() && it.was == it.wordt:
		return fault(ErrTwice, "WAS and WORDT both have the id %s (MUT-13)", short(it.was))
	}
	switch kind {
	case format.Add:
		return p.add(it)
	case format.Change:
		return p.change(it)
	}
	return p.remove(it)
}

func (p *plan) add(it *item) error {
	in, err := p.inside(it.Wordt)
	if err != nil {
		return err
	}
	if !in {
		p.counts.Outside++
		return nil
	}
	p.back(it)
	return p.insert(it, &p.counts.Adds)
}

func (p *plan) change(it *item) error {
	was, err := p.find(it)
	if err != nil {
		return err
	}
	in, err := p.inside(it.Wordt)
	if err != nil {
		return err
	}
	switch {
	case was == nil && !in:
		p.counts.Outside++
		return nil
	case was == nil && p.area != nil && !p.replay:
		p.counts.Entered++
		p.back(it)
		return p.insert(it, nil)
	case was == nil:
		if it.doubt, err = p.lost(it); err != nil {
			return err
		}
		return p.insert(it, &p.counts.Changes)
	}
	p.drop(was)
	it.doubt = p.doubts.has(it.was)
	p.doubts.set(it.was, false)
	if !in {
		p.counts.Left++
		p.gone(it)
		return nil
	}
	return p.insert(it, &p.counts.Changes)
}

func (p *plan) remove(it *item) error {
	was, err := p.find(it)
	switch {
	case err != nil:
		return err
	case was == nil && p.area != nil:
		p.counts.Outside++
		return nil
	case was != nil:
		p.drop(was)
		p.doubts.set(it.was, false)
	}
	p.counts.Deletes++
	return nil
}

func (p *plan) inside(s *format.State) (bool, error) {
	if p.area == nil {
		return true, nil
	}
	in, err := p.area.Inside(s)
	if err != nil {
		err = fmt.Errorf("find out whether the WORDT is in the area: %w", err)
	}
	return in, err
}

// insert puts the WORDT in the copy. What a state that is sent again does is nothing (MUT-36).
func (p *plan) insert(it *item, count *int64) error {
	if p.doubts != nil {
		had := slices.ContainsFunc(p.live[it.wordt], func(e *entry) bool { return !e.gone })
		p.doubts.set(it.wordt, it.doubt && (!had || p.doubts.has(it.wordt)))
	}
	if !p.initial && (p.replay || p.o.Match.byID()) {
		known, err := p.known(it)
		if known || err != nil {
			return err
		}
	}
	if count != nil {
		*count++
	}
	if !p.initial {
		p.live[it.wordt] = append(p.live[it.wordt], it.stored)
	}
	it.stored.gone = false // a plan before this one may have taken it out
	p.inserts = append(p.inserts, it.stored)
	return nil
}

func (p *plan) drop(e *entry) {
	e.gone = true
	if e.row != 0 {
		p.deletes = append(p.deletes, e.row)
	}
}

// gone remembers an object that left the area.
func (p *plan) gone(it *item) {
	if p.o.Tombstones && it.ObjectID != "" { // without an id nobody can tell that it comes back
		p.left[objectKey{it.Type(), it.ObjectID}] = true
	}
}

// back looks whether an object that comes was there before (MUT-46).
func (p *plan) back(it *item) {
	key := objectKey{it.Type(), it.ObjectID}
	now, planned := p.left[key]
	if !p.o.Tombstones || it.ObjectID == "" || p.initial || !(now || !planned && p.tombs[key]) {
		return
	}
	p.counts.Reentered++
	p.left[key] = false
	if p.o.Reenter == ReenterInitial && p.reinit == "" {
		p.reinit = fmt.Sprintf("%s %s came back into the area, and what happened outside it is not known", key.objectType, short(key.objectID))
	}
}

// surviving gives the states to insert that no later group took out again.
func (p *plan) surviving() []*entry {
	out := p.inserts[:0]
	for _, e := range p.inserts {
		if !e.gone {
			out = append(out, e)
		}
	}
	return out
}
