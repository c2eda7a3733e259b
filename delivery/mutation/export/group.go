package export

import (
	"schakel/delivery/mutation/format"
	"schakel/delivery/mutation/ingest"
	"schakel/store"
)

// groups makes groups of files from rows of the store. It remembers the namespaces of states, which are few.
type groups struct {
	known map[string][]format.Namespace
}

func newGroups() *groups { return &groups{known: make(map[string][]format.Namespace)} }

// group makes the group of a file from one of the history.
func (g *groups) group(record store.GroupRecord) (*format.Group, error) {
	out := &format.Group{Mutations: make([]format.Mutation, len(record.Mutations))}
	for i, m := range record.Mutations {
		was, err := g.state(m.Was)
		if err != nil {
			return nil, err
		}
		wordt, err := g.state(m.Wordt)
		if err != nil {
			return nil, err
		}
		out.Mutations[i] = format.Mutation{ObjectType: m.ObjectType, ObjectID: m.ObjectID, Was: was, Wordt: wordt}
	}
	return out, nil
}

// added makes a state of a snapshot: a group of its own that adds it (MUT-31).
func (g *groups) added(row *store.MutationState) (*format.Group, error) {
	wordt, err := g.state(row)
	if err != nil {
		return nil, err
	}
	return &format.Group{Mutations: []format.Mutation{{ObjectType: row.ObjectType, ObjectID: row.ObjectID, Wordt: wordt}}}, nil
}

func (g *groups) state(row *store.MutationState) (*format.State, error) {
	if row == nil {
		return nil, nil
	}
	spaces, seen := g.known[row.Namespaces]
	if !seen {
		var err error
		if spaces, err = ingest.Namespaces(row.Namespaces); err != nil {
			return nil, err
		}
		g.known[row.Namespaces] = spaces
	}
	return &format.State{ID: row.ID, XML: row.XML, Namespaces: spaces}, nil
}
