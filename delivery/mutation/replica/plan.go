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

// find gives the state that a WAS refers to; nil when it is not there and need not be.
func (p *plan) find(it *item) (*entry, error) {
	var found []*entry
	for _, e := range p.live[it.was] {
		if !e.gone {
			found = append(found, e)
		}
	}
	if len(found) > 1 && len(p.o.Match.Key) > 0 {
		return nil, fault(ErrAmbiguous, "%d have it", len(found))
	}
	if len(found) > 0 {
		return found[0], p.verify(it, found[0])
	}
	return nil, p.unknown(it)
}

// unknown decides whether a WAS may be absent from the copy (MUT-44, MUT-45).
func (p *plan) unknown(it *item) error {
	if p.replay {
		p.counts.Again++
		return nil
	}
	if p.area != nil {
		in, err := p.area.Inside(it.Was)
		if err != nil {
			return fmt.Errorf("find out whether the WAS is in the area: %w", err)
		}
		if !in {
			return nil
		}
	}
	if p.o.Verify == VerifyRepair {
		p.counts.Repaired++
		p.mismatch(it, it.Was, "")
		return nil
	}
	dead := ""
	if len(p.live[it.was]) > 0 {
		dead = "; it was replaced or deleted just before"
	}
	return fault(ErrUnknown, "%s of %s %s%s", p.name(it.was), it.Type(), short(it.ObjectID), dead)
}

// lost reports whether a WAS that is not in the copy, while a delta is done over what may have a part of it, should have been in
// it at some time.
func (p *plan) lost(it *item) (bool, error) {
	if p.area == nil || p.doubts == nil {
		return true, nil
	}
	in, err := p.area.Inside(it.Was)
	if err != nil {
		err = fmt.Errorf("find out whether the WAS is in the area: %w", err)
	}
	return in, err
}

// name tells of what a state was looked up by.
func (p *plan) name(ref string) string {
	if p.o.Match.byID() {
		return "id " + short(ref)
	}
	return "nothing that matches by " + p.o.Match.String() + " in the place of one"
}

// known looks whether the copy has the WORDT already: the same state is no error, another one with its id is. A replay
// takes it out, since it brings each state again in its order.
func (p *plan) known(it *item) (bool, error) {
	for _, e := range p.live[it.wordt] {
		if e.gone {
			continue
		}
		if p.replay {
			p.counts.Again++
			p.drop(e)
			return false, nil
		}
		same, _, err := p.compare(it.Wordt, e)
		if err != nil {
			return false, err
		}
		if !same {
			return false, fault(ErrTwice, "id %s now stands for another state of %s %s", short(it.wordt), it.Type(), short(it.ObjectID))
		}
		p.counts.Again++
		return true, nil
	}
	return false, nil
}
