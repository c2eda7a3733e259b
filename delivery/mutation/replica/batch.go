package replica

import (
	"schakel/delivery/mutation/archive"
	"schakel/delivery/mutation/format"
)

// entry is a state of the copy, or one that is to come into it.
type entry struct {
	row        int64  // in the table; 0: not in it yet
	ref        string // what it is found by
	id         string
	objectType string
	objectID   string
	body       string // XML, or the JSON of fields
	ns         string // the namespaces around the XML, as namespaceKey makes them
	state      *format.State
	gone       bool
}

// item is a mutation with what the reading side has worked out of it.
type item struct {
	*format.Mutation
	was, wordt string // what the states are found by; empty: no such state
	stored     *entry // what the copy stores of the WORDT
	doubt      bool   // the WAS was not there, nor what came before it
	err        error  // why the mutation cannot be taken
}

// unit is a group where it stands.
type unit struct {
	at    archive.Position
	line  int
	items []item
	hash  uint64 // of the delivery up to here
}

// batch is a number of groups for one transaction.
type batch struct {
	units     []unit
	mutations int
	bytes     int
	end       error // why no other comes behind it: io.EOF when the delivery is whole; nil: more come
}

// prepare works out what costs time on the reading side, so that it runs beside the database.
func (o *Options) prepare(g *format.Group, at archive.Position, hash uint64) (unit, int) {
	u := unit{at: at, line: g.Line, items: make([]item, len(g.Mutations)), hash: hash}
	size := 0
	for i := range g.Mutations {
		m := &g.Mutations[i]
		u.items[i] = item{Mutation: m}
		for _, s := range []*format.State{m.Was, m.Wordt} {
			if s != nil {
				size += len(s.XML)
			}
		}
		u.items[i].err = o.work(&u.items[i])
	}
	return u, size
}

func (o *Options) work(it *item) (err error) {
	if it.Was != nil {
		if it.was, err = o.Match.ref(it.Was); err != nil {
			return err
		}
	}
	if it.Wordt == nil {
		return nil
	}
	if it.wordt, err = o.Match.ref(it.Wordt); err != nil {
		return err
	}
	it.stored = &entry{ref: it.wordt, id: it.Wordt.ID, objectType: it.Type(), objectID: it.ObjectID, state: it.Wordt}
	it.stored.body, it.stored.ns, err = o.stored(it.Wordt)
	return err
}

func (o *Options) stored(s *format.State) (body, ns string, err error) {
	if len(o.Fields) > 0 {
		body, err = project(s, o.Fields)
		return body, "", err
	}
	return string(s.XML), namespaceKey(s.Namespaces), nil
}

// namespaceKey is the same for the same declarations; no part of it can hold the marks between.
func namespaceKey(list []format.Namespace) string {
	if len(list) == 0 {
		return ""
	}
	var room [512]byte
	key := room[:0]
	for _, n := range list {
		key = append(append(append(append(key, n.Prefix...), 0x1f), n.URI...), 0x1e)
	}
	return string(key)
}

// chain goes from the hash of what came before a group to the one behind it: FNV-1a over the ids and sizes of its states.
// It reports whether a delivery that is read again is the same up to where the copy is. An id stands for one state for ever; of
// a state without one the XML counts.
func chain(hash uint64, g *format.Group) uint64 {
	const prime = 1099511628211
	text := func(s string) {
		for i := range len(s) {
			hash = (hash ^ uint64(s[i])) * prime
		}
		hash = (hash ^ 0xff) * prime
	}
	for i := range g.Mutations {
		m := &g.Mutations[i]
		text(m.ObjectID)
		for _, s := range []*format.State{m.Was, m.Wordt} {
			if s == nil {
				hash = (hash ^ 0xfe) * prime
				continue
			}
			text(s.ID)
			if s.ID == "" {
				for _, c := range s.XML {
					hash = (hash ^ uint64(c)) * prime
				}
			}
			hash = (hash ^ uint64(len(s.XML))) * prime
		}
	}
	return hash*prime ^ uint64(len(g.Mutations))
}
