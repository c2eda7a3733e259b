package replica

import "fmt"

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
