package historytest

import (
	"slices"
	"sync"

	"schakel/delivery/mutation/format"
)

// Record holds the publications of a source, in order. It gives the content of an exact copy after each group, by the ids of the
// source alone. It is safe for concurrent use.
type Record struct {
	mu   sync.Mutex
	log  [][]change
	at   int // groups that were replayed
	live map[string]fact
}

// change is a mutation, as far as a copy goes.
type change struct {
	was   string // empty: nothing
	wordt string
	fact  fact
}

// fact is a state with its line in a copy.
type fact struct {
	line, kind string
	state      *format.State
}

// Add notes groups that were published.
func (r *Record) Add(groups ...*format.Group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range groups {
		var list []change
		for _, m := range g.Mutations {
			var c change
			if m.Was != nil {
				c.was = m.Was.ID
			}
			if m.Wordt != nil {
				c.wordt, c.fact = m.Wordt.ID, fact{Line(m.ObjectType, m.ObjectID, m.Wordt), m.ObjectType, m.Wordt}
			}
			list = append(list, c)
		}
		r.log = append(r.log, list)
	}
}

// Len counts the published groups.
func (r *Record) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.log)
}

// At lists the content of a copy after so many groups, as [History.Copy] gives it; nil keeps all.
func (r *Record) At(groups int64, keep func(kind string, s *format.State) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil || int(groups) < r.at {
		r.live, r.at = map[string]fact{}, 0
	}
	for ; r.at < int(groups); r.at++ {
		r.replay(r.log[r.at])
	}
	lines := []string{}
	for _, f := range r.live {
		if keep == nil || keep(f.kind, f.state) {
			lines = append(lines, f.line)
		}
	}
	slices.Sort(lines)
	return lines
}

func (r *Record) replay(group []change) {
	for _, c := range group {
		delete(r.live, c.was)
		if c.wordt != "" {
			r.live[c.wordt] = c.fact
		}
	}
}
