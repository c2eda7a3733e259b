package area

import (
	"fmt"
	"sync"
	"sync/atomic"

	"schakel/delivery/mutation/format"
)

// Stats counts what a filter did.
type Stats struct {
	Groups     int64 `json:"groups"`     // seen
	Mutations  int64 `json:"mutations"`  // seen
	Kept       int64 `json:"kept"`       // mutations passed
	Unreadable int64 `json:"unreadable"` // states whose geometry could not be read
}

// mostNotes is how many unreadable states are told of one by one.
const mostNotes = 20

type tally struct {
	groups, mutations, kept, unreadable atomic.Int64

	mutex sync.Mutex
	notes []string
}

func (t *tally) note(m *format.Mutation, s *format.State, err error) {
	t.unreadable.Add(1)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.notes) < mostNotes {
		t.notes = append(t.notes, fmt.Sprintf("%.60s %.100s, state %.100s: %s", m.Type(), m.ObjectID, s.ID, err))
	}
}

// Stats gives the counts so far.
func (t *tally) Stats() Stats {
	return Stats{Groups: t.groups.Load(), Mutations: t.mutations.Load(), Kept: t.kept.Load(), Unreadable: t.unreadable.Load()}
}

// Notes tells of the first twenty states whose geometry could not be read, in no certain order.
func (t *tally) Notes() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return append([]string(nil), t.notes...)
}
