package export

import (
	"context"
	"errors"
	"strings"

	"schakel/store"
)

// Names are the names under which a reader knows deltas. Who gets everything knows them by their ids. To the id of a part's delta
// a mark of the part's lineage is added: a follower that goes on by a name of its old part, after its area or object types were
// changed, gets an error, and does not get deltas of the new part for those of the old one (MUT-38, MUT-49).
type Names struct {
	mark string
	any  bool // what the reader gets cannot be read, so no name is refused for its mark
}

// idLength holds for ids of deltas: UUIDs.
const idLength = 36

// namesOf gives the names of deltas in a lineage, that of a part or, when it is equal, the whole one.
func namesOf(lineage, whole string) Names {
	if lineage == whole {
		return Names{}
	}
	mark := strings.ReplaceAll(lineage, "-", "")
	return Names{mark: mark[:min(len(mark), 12)]}
}

// NameOf gives the name of a delta under a mark; an empty mark leaves the id as it is.
func NameOf(id, mark string) string {
	if id == "" || mark == "" {
		return id
	}
	return id + "-" + mark
}

// Of gives the name of a delta; there is none for an empty id.
func (n Names) Of(id string) string { return NameOf(id, n.mark) }

// splitName is the reverse of NameOf.
func splitName(name string) (id, mark string) {
	if len(name) > idLength && name[idLength] == '-' {
		return name[:idLength], name[idLength+1:]
	}
	return name, ""
}

// Names maps deltas to the ids that a reader knows now.
func (e *Exporter) Names(ctx context.Context, v View) (Names, error) {
	_, names, err := e.reads(ctx, v)
	return names, err
}

// reads gives the part of a dataset that a reader gets, and the names under which it knows deltas.
func (e *Exporter) reads(ctx context.Context, v View) (part, Names, error) {
	wants, err := e.wants(ctx, v)
	if err != nil {
		return wants, Names{}, err
	}
	lineage, err := wants.lineage(v.Dataset.Lineage)
	if errors.Is(err, ErrUnreadable) {
		return wants, Names{any: true}, nil
	}
	return wants, namesOf(lineage, v.Dataset.Lineage), err
}

// fit reports whether a name with a mark is one that a reader may go on by.
func (n Names) fit(v View, d store.MutationDelta, mark string) bool {
	return n.any || mark == n.mark || mark == "" && v.Follower != nil && d.Number <= v.Follower.BareUntil
}
